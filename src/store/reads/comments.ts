/** What people said of a job. */

import type { JobComment } from '../../domain/job.ts';
import type { Sql } from '../sql/driver.ts';
import { only } from '../sql/rows.ts';

export async function after(
  sql: Sql,
  jobNo: number,
  afterSeq: number,
  limit: number,
): Promise<(JobComment & { readonly seq: number })[]> {
  const text =
    'select seq, at, author, body from comment where job_no = $1 and seq > $2 order by seq limit $3 + 0';
  return (await sql.all(text, [jobNo, afterSeq, limit])).map(([seq, at, by, body]) => ({
    seq: seq as number,
    at: at as number,
    by: by as string,
    text: body as string,
  }));
}

/** How many of somebody's words on a job begin like that. */
export async function countOf(sql: Sql, jobNo: number, by: string, beginning: string): Promise<number> {
  const text = 'select count(*) from comment where job_no = $1 and author = $2 and substr(body, 1, $3) = $4';
  return Number(await only(sql, text, [jobNo, by, beginning.length, beginning]));
}

export async function isSaid(sql: Sql, jobNo: number, by: string, text: string): Promise<boolean> {
  const found = 'select 1 from comment where job_no = $1 and author = $2 and body = $3 limit 1';
  return (await sql.all(found, [jobNo, by, text])).length > 0;
}
