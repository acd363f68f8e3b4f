/** Messages between agents, and what they ask of the scheduler. */

import type { Message, MessageFilter, MessageStatus } from '../../domain/message.ts';
import type { Sql, Value } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';
import { MESSAGE } from '../sql/tables.ts';

export async function byId(sql: Sql, id: string): Promise<Message | null> {
  const row = await first(sql, `select ${MESSAGE.selected} from message where id = $1`, [id]);
  return row && MESSAGE.from(row);
}

const SOME = 'select 1 from receipt where receipt.message_no = message.no';
const every = (column: string): string =>
  `(exists (${SOME}) and not exists (${SOME} and receipt.${column} is null))`;

/** As `statusOf` in the domain says. PostgreSQL takes no parameter that is not used. */
function withStatus(status: MessageStatus, now: () => string): string {
  const plain = "message.kind <> 'spawn'";
  const expired = (): string => `(message.expires_at is not null and message.expires_at <= ${now()})`;
  switch (status) {
    case 'failed':
      return "message.status = 'failed'";
    case 'read':
      return `${plain} and ${every('read_at')}`;
    case 'delivered':
      return `(message.status = 'delivered' or (${plain} and ${every('delivered_at')} and not ${every('read_at')}))`;
    case 'expired':
      return `${plain} and not ${every('delivered_at')} and ${expired()}`;
    case 'pending':
      return `message.status = 'pending' and (message.kind = 'spawn' or (not ${every('delivered_at')} and not ${expired()}))`;
  }
}

/** Newest first. */
export async function list(sql: Sql, filter: MessageFilter, now: number): Promise<Message[]> {
  const params: Value[] = [];
  const bind = (value: Value): string => `$${params.push(value)}`;
  const sentBy = (name: string): string => `select no from message where sender = ${bind(name)}`;
  const sentTo = (name: string): string =>
    `select no from message where recipient = ${bind(name)} union select message_no from receipt where agent = ${bind(name)}`;
  const wanted = [
    ...(filter.kind === undefined ? [] : [`message.kind = ${bind(filter.kind)}`]),
    ...(filter.status === undefined ? [] : [withStatus(filter.status, () => bind(now))]),
    ...(filter.from === undefined ? [] : [`message.sender = ${bind(filter.from)}`]),
    ...(filter.to === undefined ? [] : [`message.no in (${sentTo(filter.to)})`]),
    ...(filter.of === undefined ? [] : [`message.no in (${sentBy(filter.of)} union ${sentTo(filter.of)})`]),
    ...(filter.before === undefined ? [] : [`message.no < ${bind(filter.before)}`]),
  ];
  const where = ['message.no > 0', ...wanted].join(' and ');
  const text = `select ${MESSAGE.selected} from message where ${where} order by message.no desc limit ${bind(filter.limit)} + 0`;
  return (await sql.all(text, params)).map((row) => MESSAGE.from(row));
}

/** The whole tree of a thread, oldest first; of somebody, what it is a party of. Served by message_thread. */
export async function thread(
  sql: Sql,
  rootNo: number,
  of: string | null,
  afterNo: number,
  limit: number,
): Promise<Message[]> {
  const party = of === null ? '' : ` and (message.sender = $4 or exists (${SOME} and receipt.agent = $4))`;
  const text = `select ${MESSAGE.selected} from message
    where (no = $1 or thread_no = $1) and no > $2${party} order by no limit $3 + 0`;
  const params = [rootNo, afterNo, limit, ...(of === null ? [] : [of])];
  return (await sql.all(text, params)).map((row) => MESSAGE.from(row));
}

/** When the one was sent that lies so many back; null where there are not as many. Served by message_by_sender. */
export function sentAt(sql: Sql, sender: string, back: number): Promise<number | null> {
  const text = 'select created_at from message where sender = $1 order by no desc limit 1 offset $2 + 0';
  return only<number | null>(sql, text, [sender, back]);
}

/** How often this run has asked for another. Served by message_spawned. */
export function countSpawns(sql: Sql, jobNo: number): Promise<number> {
  const text = "select count(*) from message where kind = 'spawn' and job_no = $1";
  return only<number>(sql, text, [jobNo]);
}
