/** The servers of this installation. */

import type { ServedGateway } from '../../domain/served-gateway.ts';
import type { Sql } from '../sql/driver.ts';
import { only } from '../sql/rows.ts';

/** Says that a server is alive, and which gateways it serves; answers when one last said so. */
export async function beat(
  sql: Sql,
  name: string,
  at: number,
  gateways: readonly ServedGateway[] | null = null,
): Promise<number | null> {
  const last = await only<number | null>(sql, 'select beat_at from alive where name = $1', [name]);
  await sql.run(
    'insert into alive (name, beat_at, gateways) values ($1, $2, $3) on conflict (name) do update set beat_at = excluded.beat_at, gateways = excluded.gateways where alive.beat_at < excluded.beat_at',
    [name, at, gateways === null ? null : JSON.stringify(gateways)],
  );
  return last;
}

export function forget(sql: Sql, before: number) {
  return sql.run("delete from alive where name <> 'server' and beat_at < $1", [before]);
}
