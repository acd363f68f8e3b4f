/** Who sends and receives messages. */

import type { Agent } from '../../domain/agent.ts';
import type { Sql } from '../sql/driver.ts';
import { insertInto, type Written } from '../sql/table.ts';
import { AGENT } from '../sql/tables.ts';

/**
 * The right to add agents, and to send something to all of them. A broadcast and an agent that comes while it is sent would
 * miss each other, so they take turns.
 */
export async function lock(sql: Sql): Promise<void> {
  await sql.run("update revision set value = value + 1 where name = 'agents'", []);
}

const SAVED: Written<Agent> = {
  row: AGENT.row,
  shape: {
    ...AGENT.shape,
    onConflict: `on conflict (id) do update set name = excluded.name, capabilities = excluded.capabilities, registered = 1`,
  },
};

/** Adds it, or changes what is said of it; when it was heard stays. */
export async function save(sql: Sql, agent: Agent): Promise<void> {
  await insertInto(sql, SAVED, [agent]);
}

/** One that is heard for the first time. */
export async function add(sql: Sql, agent: Agent): Promise<void> {
  await insertInto(sql, AGENT, [agent]);
}

/** Servers may write in any order what they heard. */
export async function heard(sql: Sql, id: string, at: number, status: Agent['status']): Promise<void> {
  await sql.run(
    `update agent set status = case when last_seen_at > $2 then status else $3 end,
       last_seen_at = case when last_seen_at > $2 then last_seen_at else $2 end where id = $1`,
    [id, at, status],
  );
}

export async function remove(sql: Sql, id: string): Promise<boolean> {
  return (await sql.run('delete from agent where id = $1', [id])) > 0;
}

/** Those that nobody registered, and that were not heard since. */
export function dropSilent(sql: Sql, before: number, limit: number) {
  return sql.run(
    `delete from agent where id in (
       select id from agent where registered = 0 and coalesce(last_seen_at, created_at) < $1 order by id limit $2 + 0)`,
    [before, limit],
  );
}
