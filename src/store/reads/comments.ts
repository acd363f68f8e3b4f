/** What people said of a job. */

import type { JobComment } from '../../domain/job.ts';
import type { Sql } from '../sql/driver.ts';

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

/** How often somebody has said something of a job, and whether this was among it. */
export async function wordsOf(
  sql: Sql,
  jobNo: number,
  by: string,
  text: string,
): Promise<{ readonly count: number; readonly said: boolean }> {
  const sums = 'select count(*), sum(case when body = $3 then 1 else 0 end) from comment';
  const [row] = await sql.all(`${sums} where job_no = $1 and author = $2`, [jobNo, by, text]);
  return { count: Number(row?.[0] ?? 0), said: Number(row?.[1] ?? 0) > 0 };
}
