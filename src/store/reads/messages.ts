/** Messages between agents, and what they ask of the scheduler. */

import type { Message, MessageFilter } from '../../domain/message.ts';
import type { Sql, Value } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';
import { MESSAGE } from '../sql/tables.ts';

export async function byId(sql: Sql, id: string): Promise<Message | null> {
  const row = await first(sql, `select ${MESSAGE.selected} from message where id = $1`, [id]);
  return row && MESSAGE.from(row);
}

/** Newest first. */
export async function list(sql: Sql, filter: MessageFilter): Promise<Message[]> {
  const params: Value[] = [];
  const bind = (value: Value): string => `$${params.push(value)}`;
  const kind = filter.kind === undefined ? '' : ` and kind = ${bind(filter.kind)}`;
  const status = filter.status === undefined ? '' : ` and status = ${bind(filter.status)}`;
  const before = filter.before === undefined ? '' : ` and no < ${bind(filter.before)}`;
  const text = `select ${MESSAGE.selected} from message where no > 0${kind}${status}${before} order by no desc limit ${bind(filter.limit)} + 0`;
  return (await sql.all(text, params)).map((row) => MESSAGE.from(row));
}

/** How often this run has asked for another. Served by message_spawned. */
export function countSpawns(sql: Sql, jobNo: number): Promise<number> {
  const text = "select count(*) from message where kind = 'spawn' and job_no = $1";
  return only<number>(sql, text, [jobNo]);
}
