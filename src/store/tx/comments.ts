/** What people say of a job. */

import type { Shape, Sql } from '../sql/driver.ts';

const COMMENT: Shape = {
  table: 'comment',
  columns: [
    ['job_no', 'bigint'],
    ['seq', 'bigint'],
    ['at', 'bigint'],
    ['author', 'text'],
    ['body', 'text'],
  ],
};

export function add(
  sql: Sql,
  rows: readonly { jobNo: number; seq: number; at: number; by: string; text: string }[],
) {
  return sql.insert(
    COMMENT,
    rows.map((row) => [row.jobNo, row.seq, row.at, row.by, row.text]),
  );
}
