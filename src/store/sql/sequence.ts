/** Rows that come from elsewhere keep the numbers they had. */

import type { Sql } from './driver.ts';

/** PostgreSQL draws new numbers from a sequence, which must not meet the ones that were brought along. */
export async function raiseSequence(
  sql: Sql,
  table: 'job' | 'feed_commit' | 'job_type' | 'schedule',
): Promise<void> {
  if (sql.dialect === 'sqlite') return;
  await sql.all(
    `select setval(pg_get_serial_sequence('${table}', 'no'), (select max(no) from ${table}))`,
    [],
  );
}
