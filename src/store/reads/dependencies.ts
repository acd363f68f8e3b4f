/** Which jobs wait for which. */

import type { DependencyOn, JobDependency } from '../../domain/command.ts';
import { byNumber, type Sql } from '../sql/driver.ts';

const edges =
  'select edge.job_no, edge.parent_no, edge.wanted, edge.met, parent.id from dependency edge join job parent on parent.no = edge.parent_no';
const ofJobs = byNumber(edges, 'edge.job_no');

/** What these jobs wait for, or have waited for. */
export async function of(sql: Sql, jobNos: readonly number[]): Promise<JobDependency[]> {
  return (await sql.byKeys(ofJobs, jobNos)).map(([jobNo, parentNo, on, met, parentId]) => ({
    jobNo: jobNo as number,
    parentNo: parentNo as number,
    on: on as DependencyOn,
    met: met === 1,
    parentId: parentId as string,
  }));
}

/** Who waits for this job still. */
export async function waiting(sql: Sql, parentNo: number): Promise<{ jobNo: number; on: DependencyOn }[]> {
  const text = 'select job_no, wanted from dependency where parent_no = $1 and met = 0 order by job_no';
  return (await sql.all(text, [parentNo])).map(([jobNo, on]) => ({
    jobNo: jobNo as number,
    on: on as DependencyOn,
  }));
}
