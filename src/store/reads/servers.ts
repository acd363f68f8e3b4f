/** The servers of this installation. */

import type { Sql } from '../sql/driver.ts';

/** When each server that beat lately last did, by name. */
export async function beats(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql.all('select name, beat_at from alive', []);
  return new Map(rows.map(([name, beatAt]) => [name as string, beatAt as number]));
}
