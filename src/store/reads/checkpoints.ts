/** How far the work on a job is, in its holder's own words. */

import { byNumber, type Sql } from '../sql/driver.ts';

const ofJobs = byNumber('select job_no, body from checkpoint', 'job_no');

/** As JSON, by job. */
export async function byNo(sql: Sql, jobNos: readonly number[]): Promise<Map<number, string>> {
  return new Map((await sql.byKeys(ofJobs, jobNos)).map(([no, body]) => [no as number, body as string]));
}
