/** Jobs that wait for a verdict on their failure. */

import type { Sql } from '../sql/driver.ts';

export async function begin(sql: Sql, jobNo: number, fingerprint: string, until: number): Promise<void> {
  await sql.run(
    `insert into consultation (job_no, fingerprint, until_at) values ($1, $2, $3)
     on conflict (job_no) do update set fingerprint = excluded.fingerprint, until_at = excluded.until_at`,
    [jobNo, fingerprint, until],
  );
}

export async function end(sql: Sql, jobNo: number): Promise<void> {
  await sql.run('delete from consultation where job_no = $1', [jobNo]);
}
