/** Which jobs wait for which. */

import type { DependencyOn } from '../../domain/command.ts';
import type { Shape, Sql } from '../sql/driver.ts';

const DEPENDENCY: Shape = {
  table: 'dependency',
  columns: [
    ['job_no', 'bigint'],
    ['parent_no', 'bigint'],
    ['wanted', 'text'],
    ['met', 'smallint'],
  ],
};

export function add(
  sql: Sql,
  rows: readonly { jobNo: number; parentNo: number; on: DependencyOn; met: boolean }[],
) {
  return sql.insert(
    DEPENDENCY,
    rows.map((row) => [row.jobNo, row.parentNo, row.on, row.met ? 1 : 0]),
  );
}

/** Nobody waits for this job any more. */
export async function settle(sql: Sql, parentNo: number): Promise<void> {
  await sql.run('update dependency set met = 1 where parent_no = $1 and met = 0', [parentNo]);
}
