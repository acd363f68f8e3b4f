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
