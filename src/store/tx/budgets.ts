/** What types may take in a day. */

import type { Budget } from '../../domain/budget.ts';
import { locking, perDialect, type Sql } from '../sql/driver.ts';
import { insertInto, type Written } from '../sql/table.ts';
import { BUDGET } from '../sql/tables.ts';

const ROW: Written<Budget> = {
  row: BUDGET.row,
  shape: {
    ...BUDGET.shape,
    onConflict: `on conflict (type_no) do update set ${BUDGET.shape.columns.map(([name]) => `${name} = excluded.${name}`).join(', ')}`,
  },
};

const locked = perDialect(
  (dialect) =>
    `select ${BUDGET.selected} from budget where type_no = $1${locking({ dialect }, 'for update')}`,
);

export async function lock(sql: Sql, typeNo: number): Promise<Budget | null> {
  const [row] = await sql.all(locked(sql), [typeNo]);
  return row === undefined ? null : BUDGET.from(row);
}

export async function save(sql: Sql, budget: Budget): Promise<void> {
  await insertInto(sql, ROW, [budget]);
}

export function remove(sql: Sql, typeNo: number) {
  return sql.run('delete from budget where type_no = $1', [typeNo]);
}
