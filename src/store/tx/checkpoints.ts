/** How far the work on a job is, in its holder's own words. */

import { type Shape, type Sql } from '../sql/driver.ts';

const CHECKPOINT: Shape = {
  table: 'checkpoint',
  columns: [
    ['job_no', 'bigint'],
    ['body', 'text'],
  ],
  onConflict: 'on conflict (job_no) do update set body = excluded.body',
};

/** The last one counts. */
export function save(sql: Sql, rows: readonly { readonly jobNo: number; readonly value: string }[]) {
  return sql.insert(
    CHECKPOINT,
    rows.map(({ jobNo, value }) => [jobNo, value]),
  );
}

/** The next job of a lineage goes on from where the one before was. */
export async function copy(sql: Sql, fromNo: number, toNo: number): Promise<void> {
  await sql.run('insert into checkpoint (job_no, body) select $2, body from checkpoint where job_no = $1', [
    fromNo,
    toNo,
  ]);
}

export async function remove(sql: Sql, jobNo: number): Promise<void> {
  await sql.run('delete from checkpoint where job_no = $1', [jobNo]);
}
