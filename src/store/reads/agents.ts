/** Who sends and receives messages. */

import type { Agent } from '../../domain/agent.ts';
import type { Sql } from '../sql/driver.ts';
import { column, first, only } from '../sql/rows.ts';
import { AGENT } from '../sql/tables.ts';

/** There are at most `LIMITS.agents` of them. */
export async function all(sql: Sql): Promise<Agent[]> {
  const rows = await sql.all(`select ${AGENT.selected} from agent order by id`, []);
  return rows.map((row) => AGENT.from(row));
}

export async function byId(sql: Sql, id: string): Promise<Agent | null> {
  const row = await first(sql, `select ${AGENT.selected} from agent where id = $1`, [id]);
  return row && AGENT.from(row);
}

export function ids(sql: Sql): Promise<string[]> {
  return column<string>(sql, 'select id from agent order by id', []);
}

export function count(sql: Sql): Promise<number> {
  return only<number>(sql, 'select count(*) from agent', []);
}
