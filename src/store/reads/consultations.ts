/** Jobs that wait for a verdict on their failure. */

import type { Sql } from '../sql/driver.ts';
import { column, only } from '../sql/rows.ts';

/** Those that have waited long enough, or need not wait any more. */
export function over(sql: Sql, now: number, limit: number): Promise<number[]> {
  const text = `
    select job.no from job left join consultation on consultation.job_no = job.no
      left join verdict on verdict.fingerprint = consultation.fingerprint
    where job.settled = 3 and (consultation.job_no is null or consultation.until_at <= $1 or verdict.wanted_at is null)
    order by job.no limit $2 + 0`;
  return column<number>(sql, text, [now, limit]);
}

/** When the next one has waited long enough. */
export function nextAt(sql: Sql): Promise<number | null> {
  const text = `select min(consultation.until_at) from job join consultation on consultation.job_no = job.no
    where job.settled = 3`;
  return only<number | null>(sql, text, []);
}

/** How long a job waits at most; null when it does not. */
export function untilOf(sql: Sql, jobNo: number): Promise<number | null> {
  return only<number | null>(sql, 'select until_at from consultation where job_no = $1', [jobNo]);
}
