/** Who is told of what. */

import type { Subscription } from '../../domain/subscription.ts';
import type { Sql } from '../sql/driver.ts';
import { only } from '../sql/rows.ts';
import { insertInto } from '../sql/table.ts';
import { SUBSCRIPTION } from '../sql/tables.ts';
import { raiseRevision } from './subscription-removal.ts';

const NEW = SUBSCRIPTION.unnumbered();

/** Answers how many there are then. */
export async function add(sql: Sql, subscription: Omit<Subscription, 'no'>): Promise<number> {
  // Whoever adds one holds the revision's row: two at once cannot both be the last that fits.
  await raiseRevision(sql);
  await insertInto(sql, NEW, [subscription]);
  return only<number>(sql, 'select count(*) from subscription', []);
}

/** Whether there was one to remove. */
export async function remove(sql: Sql, id: string): Promise<boolean> {
  const removed = await sql.run('delete from subscription where id = $1', [id]);
  await raiseRevision(sql);
  return removed > 0;
}
