/** Names for places that texts are delivered to. */

import type { Alias } from '../../domain/alias.ts';
import type { Sql } from '../sql/driver.ts';
import { insertInto, type Written } from '../sql/table.ts';
import { ALIAS } from '../sql/tables.ts';

const SAVED: Written<Alias> = {
  row: ALIAS.row,
  shape: {
    ...ALIAS.shape,
    onConflict: `on conflict (alias) do update set
      channel = excluded.channel, target = excluded.target, description = excluded.description`,
  },
};

/** Adds it, or puts it in the place of the one with its name. */
export async function save(sql: Sql, alias: Alias): Promise<void> {
  await insertInto(sql, SAVED, [alias]);
}

/** Whether there was one to remove. */
export async function remove(sql: Sql, name: string): Promise<boolean> {
  return (await sql.run('delete from alias where alias = $1', [name])) > 0;
}
