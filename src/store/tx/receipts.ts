/** Messages on their way to each of their recipients: handed out, arrived, read. */

import { type Carrier, IN_PROMPT, type Message, type Receipt } from '../../domain/message.ts';
import { locking, perDialect, type Sql } from '../sql/driver.ts';
import { column } from '../sql/rows.ts';
import { insertInto } from '../sql/table.ts';
import { MESSAGE, RECEIPT } from '../sql/tables.ts';

export async function add(sql: Sql, receipts: readonly Receipt[]): Promise<void> {
  await insertInto(sql, RECEIPT, receipts);
}

/** An agent that comes to be known gets the broadcasts that have not run out, the newest of them. */
export async function addBroadcasts(sql: Sql, agent: string, now: number, limit: number): Promise<void> {
  // Served by message_by_recipient.
  await sql.run(
    `insert into receipt (message_no, agent, rank, expires_at, open, fence)
     select no, $1, rank, expires_at, 1, 0 from message
     where recipient = 'broadcast' and sender <> $1 and (expires_at is null or expires_at > $2)
     order by no desc limit $3 + 0
     on conflict (message_no, agent) do nothing`,
    [agent, now, limit],
  );
}

// Its carrier is gone: a lease by its fence, a prompt by the end of its job.
const isLeft = `not exists (
  select 1 from job where job.no = receipt.job_no and job.finished_at is null
    and (receipt.fence = ${IN_PROMPT} or (job.fence = receipt.fence and job.state = 'running')))`;

// Served by receipt_open.
const free = perDialect(
  (dialect) =>
    `select ${MESSAGE.selected}, receipt.job_no from receipt join message on message.no = receipt.message_no
     where receipt.agent = $1 and receipt.open = 1 and (receipt.expires_at is null or receipt.expires_at > $2)
       and (receipt.job_no is null or ${isLeft})
     order by receipt.rank, receipt.message_no limit $3 + 0${locking({ dialect }, 'for update of receipt skip locked')}`,
);

const left = `select message_no from receipt where agent = $1 and message_no = any($2::bigint[]) and ${isLeft}`;

/**
 * A message that was handed out is free again when its carrier is gone. Two carriers at once see disjoint rows. PostgreSQL
 * judges a row that another carrier has just taken by that row as it is now, but by the jobs as they were when the statement
 * began, in which the carrier is none yet: once the row is locked, the next statement sees both.
 */
async function lockFree(sql: Sql, agent: string, now: number, limit: number): Promise<Message[]> {
  const rows = await sql.all(free(sql), [agent, now, limit]);
  const messages = rows.map((row) => MESSAGE.from(row));
  const carried = messages.filter((_, i) => rows[i]?.at(-1) !== null).map(({ no }) => no);
  if (sql.dialect === 'sqlite' || carried.length === 0) return messages;
  const isFree = new Set(await column<number>(sql, left, [agent, `{${carried.join()}}`]));
  return messages.filter(({ no }) => isFree.has(no) || !carried.includes(no));
}

/** The next messages of an agent, in the order in which they matter. From now on they go with this carrier alone. */
export async function handOut(
  sql: Sql,
  agent: string,
  { jobNo, fence }: Carrier,
  now: number,
  limit: number,
): Promise<Message[]> {
  // What this carrier had before and does not get again must not arrive with it.
  await takeBack(sql, { jobNo, fence });
  const messages = await lockFree(sql, agent, now, limit);
  for (const { no } of messages)
    await sql.run('update receipt set job_no = $3, fence = $4 where message_no = $1 and agent = $2', [
      no,
      agent,
      jobNo,
      fence,
    ]);
  return messages;
}

/** Rows are taken in one order by all who change several: two commits never deadlock. */
async function lockOf(sql: Sql, { jobNo, fence }: Carrier): Promise<void> {
  if (sql.dialect === 'sqlite') return;
  const text = `select 1 from receipt where job_no = $1 and fence = $2 and open = 1 order by message_no, agent for update`;
  await sql.all(text, [jobNo, fence]);
}

/** Nothing of it was sent after all. */
export async function takeBack(sql: Sql, { jobNo, fence }: Carrier): Promise<void> {
  await lockOf(sql, { jobNo, fence });
  await sql.run('update receipt set job_no = null, fence = 0 where job_no = $1 and fence = $2 and open = 1', [
    jobNo,
    fence,
  ]);
}

/** Whatever went with this carrier has arrived, or of it only the named messages. */
export async function arrived(
  sql: Sql,
  { jobNo, fence }: Carrier,
  ids: readonly string[] | null,
  now: number,
): Promise<void> {
  await lockOf(sql, { jobNo, fence });
  const all = 'update receipt set open = 0, delivered_at = $3 where job_no = $1 and fence = $2 and open = 1';
  if (ids === null) return void (await sql.run(all, [jobNo, fence, now]));
  for (const id of ids)
    await sql.run(`${all} and message_no = (select no from message where id = $4)`, [jobNo, fence, now, id]);
}

/** Whoever reads a message has it. Answers whether this agent is one of the recipients. */
export async function markRead(sql: Sql, messageNo: number, agent: string, now: number): Promise<boolean> {
  const changed = await sql.run(
    `update receipt set open = 0, delivered_at = coalesce(delivered_at, $3), read_at = coalesce(read_at, $3)
     where message_no = $1 and agent = $2`,
    [messageNo, agent, now],
  );
  return changed > 0;
}

const unread = perDialect(
  (dialect) =>
    `select message_no from receipt where agent = $1 and read_at is null and (expires_at is null or expires_at > $2)
     order by message_no limit $3 + 0${locking({ dialect }, 'for update')}`,
);
const readByAgent = (dialect: Sql['dialect']): string =>
  `update receipt set open = 0, delivered_at = coalesce(delivered_at, $2), read_at = $2
   where agent = $1 and message_no ${dialect === 'sqlite' ? 'in (select value from json_each($3))' : '= any($3::bigint[])'}`;

/** What has not run out, the oldest first; answers how many. */
export async function markAllRead(sql: Sql, agent: string, now: number, limit: number): Promise<number> {
  const nos = (await sql.all(unread(sql), [agent, now, limit])).map(([no]) => no as number);
  if (nos.length === 0) return 0;
  const list = sql.dialect === 'sqlite' ? JSON.stringify(nos) : `{${nos.join()}}`;
  return sql.run(readByAgent(sql.dialect), [agent, now, list]);
}

// Served by receipt_due.
const due = perDialect(
  (dialect) =>
    `update receipt set open = 0 where (message_no, agent) in (
       select message_no, agent from receipt where open = 1 and expires_at <= $1 and (job_no is null or ${isLeft})
       limit $2 + 0${locking({ dialect }, 'for update skip locked')})`,
);

/** What has run out is not looked at again; that it is not handed out does not wait for this. What is on its way may arrive yet. */
export function closeExpired(sql: Sql, now: number, limit: number) {
  return sql.run(due(sql), [now, limit]);
}

/** What waits for an agent that was removed waits for nobody; answers how much that was. */
export function dropOpenOf(sql: Sql, agent: string) {
  return sql.run('delete from receipt where agent = $1 and open = 1', [agent]);
}
