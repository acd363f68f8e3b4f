/** What became of messages, for each of their recipients. */

import type {
  Carrier,
  MailboxRoom,
  Message,
  MessageRecord,
  Receipt,
  UnreadPlace,
} from '../../domain/message.ts';
import { byNumber, type Sql } from '../sql/driver.ts';
import { column, first, only } from '../sql/rows.ts';
import { MESSAGE, RECEIPT } from '../sql/tables.ts';

const ofMessages = byNumber(`select ${RECEIPT.selected} from receipt`, 'message_no', 'order by agent');

/** By the numbers of their messages. */
export async function of(sql: Sql, messageNos: readonly number[]): Promise<Map<number, Receipt[]>> {
  const rows = await sql.byKeys(ofMessages, messageNos);
  return Map.groupBy(
    rows.map((row) => RECEIPT.from(row)),
    ({ messageNo }) => messageNo,
  );
}

/** What was handed out with a carrier and has not arrived, in the order in which it matters. Served by receipt_by_job. */
export async function carriedBy(sql: Sql, { jobNo, fence }: Carrier): Promise<Message[]> {
  const text = `select ${MESSAGE.selected} from receipt join message on message.no = receipt.message_no
    where receipt.job_no = $1 and receipt.fence = $2 and receipt.open = 1 order by receipt.rank, receipt.message_no`;
  return (await sql.all(text, [jobNo, fence])).map((row) => MESSAGE.from(row));
}

const UNREAD = 'agent = $1 and read_at is null and (receipt.expires_at is null or receipt.expires_at > $2)';

// Served by receipt_unread.
const unreadPage = `select ${MESSAGE.selected}, ${RECEIPT.selected} from receipt
  join message on message.no = receipt.message_no
  where ${UNREAD} and (receipt.rank > $3 or (receipt.rank = $3 and receipt.message_no > $4))
  order by receipt.rank, receipt.message_no limit $5 + 0`;

/** What an agent has not read, in the order in which it matters, each with this agent's receipt alone. */
export async function unread(
  sql: Sql,
  agent: string,
  now: number,
  after: UnreadPlace,
  limit: number,
): Promise<MessageRecord[]> {
  const rows = await sql.all(unreadPage, [agent, now, after.rank, after.no, limit]);
  return rows.map((row) => ({ ...MESSAGE.from(row), receipts: [RECEIPT.from(row, MESSAGE.width)] }));
}

/** How many an agent has not read; counted no further than `most`. */
export function countUnread(sql: Sql, agent: string, now: number, most: number): Promise<number> {
  const text = `select count(*) from (select 1 from receipt where ${UNREAD} limit $3 + 0) as unread`;
  return only<number>(sql, text, [agent, now, most]);
}

// From one agent to the next in receipt_open, without looking at what lies between.
const found = `with recursive found (agent) as (
    select (select min(agent) from receipt where open = 1)
    union all
    select (select min(receipt.agent) from receipt where open = 1 and receipt.agent > found.agent)
    from found where found.agent is not null
  )`;
const waiting = `${found} select agent from found where agent is not null limit $1 + 0`;
const unknown = (more: string): string => `${found} select count(*) from (
    select 1 from found where agent is not null
      and not exists (select 1 from agent where agent.id = found.agent)${more}
    limit $1 + 0) as unknown`;
const ofSender = ` and exists (
    select 1 from receipt join message on message.no = receipt.message_no
    where receipt.agent = found.agent and receipt.open = 1 and message.sender = $2)`;

/** Agents for whom there may be something to hand out. */
export function agentsWaiting(sql: Sql, limit: number): Promise<string[]> {
  return column<string>(sql, waiting, [limit]);
}

/** Names for which something waits, of this sender if one is given, and under which nobody was heard; counted no further than `most`. */
export function countUnknown(sql: Sql, most: number, sender: string | null): Promise<number> {
  return sender === null
    ? only<number>(sql, unknown(''), [most])
    : only<number>(sql, unknown(ofSender), [most, sender]);
}

const IN_ORDER = 'order by receipt.rank, receipt.message_no limit 1';
/** The last that there is room for, of all; served by receipt_open. */
const waitsFor = (agent: string): string =>
  `select receipt.message_no from receipt where receipt.agent = ${agent} and receipt.open = 1 ${IN_ORDER}`;
const waitsFrom = (agent: string, sender: string): string =>
  `select receipt.message_no from receipt join message on message.no = receipt.message_no
   where receipt.agent = ${agent} and receipt.open = 1 and message.sender = ${sender} ${IN_ORDER}`;

/** Whether so many wait for an agent. */
export async function isFull(sql: Sql, agent: string, limit: number): Promise<boolean> {
  return (await first(sql, `${waitsFor('$1')} offset $2 + 0`, [agent, limit - 1])) !== null;
}

/** Whether so many of one sender wait for an agent. Senders are looked at only where there are as many in all. */
export async function isFullOf(sql: Sql, agent: string, sender: string, limit: number): Promise<boolean> {
  if (!(await isFull(sql, agent, limit))) return false;
  const text = `${waitsFrom('$1', '$2')} offset $3 + 0`;
  return (await first(sql, text, [agent, sender, limit - 1])) !== null;
}

/** The agents that have room for one more from this sender, itself left out. */
export function withRoomFor(sql: Sql, sender: string, { all, fromOne }: MailboxRoom): Promise<string[]> {
  const text = `select agent.id from agent where agent.id <> $1
    and (${waitsFor('agent.id')} offset $2 + 0) is null
    and ((${waitsFor('agent.id')} offset $3 + 0) is null
      or (${waitsFrom('agent.id', '$1')} offset $3 + 0) is null)
    order by agent.id`;
  return column<string>(sql, text, [sender, all - 1, fromOne - 1]);
}
