/** How many jobs ended how. */

import type { Tally } from '../../domain/tally.ts';
import type { Sql } from '../sql/driver.ts';

/** From the one moment on, before the other; kinds that did not come are left out. Served by the primary key. */
export async function between(sql: Sql, from: number, before: number): Promise<ReadonlyMap<Tally, number>> {
  const text = 'select kind, sum(n) from tally where at >= $1 and at < $2 group by kind';
  const rows = await sql.all(text, [from, before]);
  return new Map(rows.map(([kind, n]) => [kind as Tally, Number(n)]));
}
