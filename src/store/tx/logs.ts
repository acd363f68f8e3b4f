/** The log lines of a job. */

import type { LogLine } from '../../domain/command.ts';
import type { Shape, Sql } from '../sql/driver.ts';

const LOG: Shape = {
  table: 'job_log',
  columns: [
    ['job_no', 'bigint'],
    ['attempt', 'bigint'],
    ['at', 'bigint'],
    ['level', 'text'],
    ['body', 'text'],
  ],
};

export function add(sql: Sql, rows: readonly { jobNo: number; attempt: number; line: LogLine }[]) {
  return sql.insert(
    LOG,
    rows.map((row) => [row.jobNo, row.attempt, row.line.at, row.line.level, row.line.text]),
  );
}
