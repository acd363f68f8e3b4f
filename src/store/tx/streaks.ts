/** The last failures of types. */

import type { Streak } from '../../domain/streak.ts';
import { type KeyQuery, locking, perDialect, type Sql } from '../sql/driver.ts';
import { insertInto, type Written } from '../sql/table.ts';
import { STREAK } from '../sql/tables.ts';

const NEW: Written<Streak> = {
  row: STREAK.row,
  shape: { ...STREAK.shape, onConflict: 'on conflict (type_no) do nothing' },
};

const locked = perDialect(
  (dialect) =>
    `select ${STREAK.selected} from streak where type_no = $1${locking({ dialect }, 'for update')}`,
);

// In the order of their numbers: two commits never deadlock.
const ended: KeyQuery = {
  one: 'delete from streak where type_no = $1',
  many: `delete from streak where type_no in (
    select type_no from streak where type_no = any($1::bigint[]) order by type_no for update)`,
};

/** To be called after the jobs are locked, as their ends do. */
export async function lock(sql: Sql, typeNo: number): Promise<Streak> {
  const none: Streak = { typeNo, fingerprint: '', roots: [] };
  // Of two first failures at once the second one has to see the first.
  await insertInto(sql, NEW, [none]);
  const [row] = await sql.all(locked(sql), [typeNo]);
  return row === undefined ? none : STREAK.from(row);
}

export async function save(sql: Sql, streak: Streak): Promise<void> {
  await sql.update(STREAK.shape, [STREAK.row(streak)]);
}

export async function end(sql: Sql, typeNos: readonly number[]): Promise<void> {
  await sql.byKeys(ended, typeNos);
}
