/** The servers of this installation. */

import type { ServedGateway } from '../../domain/served-gateway.ts';
import type { Sql } from '../sql/driver.ts';

/** When each server that beat lately last did, by name. */
export async function beats(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql.all('select name, beat_at from alive', []);
  return new Map(rows.map(([name, beatAt]) => [name as string, beatAt as number]));
}

/** What the servers serve that beat after `after`, but for this one; null while one of them has not said. */
export async function gatewaysElsewhere(
  sql: Sql,
  here: string,
  after: number,
): Promise<ServedGateway[] | null> {
  const rows = await sql.all("select gateways from alive where name not in ($1, 'server') and beat_at > $2", [
    here,
    after,
  ]);
  if (rows.some(([gateways]) => gateways === null)) return null;
  return rows.flatMap(([gateways]) => JSON.parse(gateways as string) as ServedGateway[]);
}
