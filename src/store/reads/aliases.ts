/** Names for places that texts are delivered to. */

import type { Alias } from '../../domain/alias.ts';
import type { Sql } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';
import { ALIAS } from '../sql/tables.ts';

export async function all(sql: Sql): Promise<Alias[]> {
  const rows = await sql.all(`select ${ALIAS.selected} from alias order by alias`, []);
  return rows.map((row) => ALIAS.from(row));
}

export async function byName(sql: Sql, name: string): Promise<Alias | null> {
  const row = await first(sql, `select ${ALIAS.selected} from alias where alias = $1`, [name]);
  return row && ALIAS.from(row);
}

export function count(sql: Sql): Promise<number> {
  return only<number>(sql, 'select count(*) from alias', []);
}
