/** Who is told of what. */

import type { Subscription } from '../../domain/subscription.ts';
import type { Sql } from '../sql/driver.ts';
import { column, only } from '../sql/rows.ts';
import { SUBSCRIPTION } from '../sql/tables.ts';

export async function all(sql: Sql): Promise<Subscription[]> {
  const rows = await sql.all(`select ${SUBSCRIPTION.selected} from subscription order by no`, []);
  return rows.map((row) => SUBSCRIPTION.from(row));
}

/** The ids of those that go to this alias. */
export function idsOf(sql: Sql, alias: string): Promise<string[]> {
  return column<string>(sql, 'select id from subscription where alias = $1 order by no', [alias]);
}

/** Rises with every change of the subscriptions. */
export function revision(sql: Sql): Promise<number> {
  return only<number>(sql, "select value from revision where name = 'subscriptions'", []);
}
