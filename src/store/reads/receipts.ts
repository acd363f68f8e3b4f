/** What became of messages, for each of their recipients. */

import type { Carrier, Message, MessageRecord, Receipt, UnreadPlace } from '../../domain/message.ts';
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
const unknown = `${found} select count(*) from (
    select 1 from found where agent is not null and not exists (select 1 from agent where agent.id = found.agent)
    limit $1 + 0) as unknown`;

/** Agents for whom there may be something to hand out. */
export function agentsWaiting(sql: Sql, limit: number): Promise<string[]> {
  return column<string>(sql, waiting, [limit]);
}

/** Names for which something waits, and under which nobody was heard; counted no further than `most`. */
export function countUnknown(sql: Sql, most: number): Promise<number> {
  return only<number>(sql, unknown, [most]);
}

/** Whether so many wait for an agent. */
export async function isFull(sql: Sql, agent: string, limit: number): Promise<boolean> {
  const text =
    'select 1 from receipt where agent = $1 and open = 1 order by rank, message_no limit 1 offset $2 + 0';
  return (await first(sql, text, [agent, limit - 1])) !== null;
}
