/** Which jobs wait for which. */

import type { DependencyOn, JobDependency } from '../../domain/command.ts';
import { byNumber, type Sql } from '../sql/driver.ts';
import { LAST_OF_PARENT } from '../sql/job-bytes.ts';

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

export interface InputSize {
  readonly jobNo: number;
  readonly parentId: string;
  /** The last of the parent's lineage: its result counts. */
  readonly lastNo: number;
  readonly bytes: number;
}

const inputEdges = byNumber(
  `select edge.job_no, parent.id, ${LAST_OF_PARENT}, coalesce(octet_length(result.result), 0)
    from dependency edge join job parent on parent.no = edge.parent_no
    left join job_result result on result.job_no = ${LAST_OF_PARENT}`,
  'edge.job_no',
  'order by edge.parent_no',
);

/** How large the results of the dependencies of these jobs are, each the first of its lineage. */
export async function inputSizes(sql: Sql, jobNos: readonly number[]): Promise<InputSize[]> {
  return (await sql.byKeys(inputEdges, jobNos)).map(([jobNo, parentId, lastNo, bytes]) => ({
    jobNo: jobNo as number,
    parentId: parentId as string,
    lastNo: lastNo as number,
    bytes: bytes as number,
  }));
}

const resultsOf = byNumber('select job_no, result from job_result', 'job_no');

/** The results of these jobs, as JSON; null where there is none. */
export async function results(sql: Sql, jobNos: readonly number[]): Promise<Map<number, string | null>> {
  const rows = await sql.byKeys(resultsOf, jobNos);
  return new Map(rows.map(([no, result]) => [no as number, result as string | null]));
}

/** Who waits for this job still. */
export async function waiting(sql: Sql, parentNo: number): Promise<{ jobNo: number; on: DependencyOn }[]> {
  const text = 'select job_no, wanted from dependency where parent_no = $1 and met = 0 order by job_no';
  return (await sql.all(text, [parentNo])).map(([jobNo, on]) => ({
    jobNo: jobNo as number,
    on: on as DependencyOn,
  }));
}
