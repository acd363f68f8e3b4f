/** Limits that providers have reached. */

import type { LimitRecord } from '../../domain/provider-limit.ts';
import { locking, perDialect, type Sql } from '../sql/driver.ts';
import { insertInto, type Written } from '../sql/table.ts';
import { LIMIT } from '../sql/tables.ts';

const NEW: Written<LimitRecord> = {
  row: LIMIT.row,
  shape: { ...LIMIT.shape, onConflict: 'on conflict (provider) do nothing' },
};

const locked = perDialect(
  (dialect) =>
    `select ${LIMIT.selected} from provider_limit where provider = $1${locking({ dialect }, 'for update')}`,
);

export async function lock(sql: Sql, provider: string): Promise<LimitRecord> {
  const none: LimitRecord = { provider, untilAt: 0, strikes: 0 };
  // Of two first reports at once the second one has to see the first.
  await insertInto(sql, NEW, [none]);
  const [row] = await sql.all(locked(sql), [provider]);
  return row === undefined ? none : LIMIT.from(row);
}

export async function save(sql: Sql, limit: LimitRecord): Promise<void> {
  await sql.update(LIMIT.shape, [LIMIT.row(limit)]);
}
