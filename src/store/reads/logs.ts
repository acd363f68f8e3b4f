/** The log lines of a job. */

import type { StoredLog } from '../../domain/command.ts';
import type { Sql } from '../sql/driver.ts';

export async function after(sql: Sql, jobNo: number, afterNo: number, limit: number): Promise<StoredLog[]> {
  const text =
    'select no, attempt, at, level, body from job_log where job_no = $1 and no > $2 order by no limit $3 + 0';
  return (await sql.all(text, [jobNo, afterNo, limit])).map(([no, attempt, at, level, body]) => ({
    no: no as number,
    attempt: attempt as number,
    at: at as number,
    level: level as StoredLog['level'],
    text: body as string,
  }));
}
