/** Messages between agents, and what they ask of the scheduler. */

import type { Message, MessageFilter } from '../types/scheduling.ts';
import { locking, perDialect, type Row, type Shape, type Sql, type Value } from './driver.ts';

const COLUMNS = [
  ['id', 'text'],
  ['sender', 'text'],
  ['recipient', 'text'],
  ['kind', 'text'],
  ['subject', 'text'],
  ['body', 'text'],
  ['priority', 'bigint'],
  ['owner', 'text'],
  ['reply_to', 'text'],
  ['schedule_id', 'text'],
  ['job_no', 'bigint'],
  ['status', 'text'],
  ['error', 'text'],
  ['created_at', 'bigint'],
  ['delivered_at', 'bigint'],
  ['read_at', 'bigint'],
  ['expires_at', 'bigint'],
] as const satisfies Shape['columns'];
const MESSAGE: Shape = { table: 'message', columns: COLUMNS };
const SELECTED = ['no', ...COLUMNS.map(([name]) => name)].join(', ');

export async function insertMessage(sql: Sql, message: Omit<Message, 'no'>): Promise<void> {
  await sql.insert(MESSAGE, [
    [
      message.id,
      message.sender,
      message.recipient,
      message.kind,
      message.subject,
      message.body,
      message.priority,
      message.owner,
      message.replyTo,
      message.scheduleId,
      message.jobNo,
      message.status,
      message.error,
      message.createdAt,
      message.deliveredAt,
      message.readAt,
      message.expiresAt,
    ],
  ]);
}

function messageFrom(row: Row): Message {
  return {
    no: row[0] as number,
    id: row[1] as string,
    sender: row[2] as string,
    recipient: row[3] as string,
    kind: row[4] as string,
    subject: row[5] as string | null,
    body: row[6] as string,
    priority: row[7] as number,
    owner: row[8] as string | null,
    replyTo: row[9] as string | null,
    scheduleId: row[10] as string | null,
    jobNo: row[11] as number | null,
    status: row[12] as Message['status'],
    error: row[13] as string | null,
    createdAt: row[14] as number,
    deliveredAt: row[15] as number | null,
    readAt: row[16] as number | null,
    expiresAt: row[17] as number | null,
  };
}

const spawns = perDialect(
  (dialect) =>
    `select ${SELECTED} from message where kind = 'spawn' and status = 'pending' order by no limit $1 + 0${locking({ dialect }, 'for update skip locked')}`,
);

// Served by message_spawned.
export async function countSpawns(sql: Sql, jobNo: number): Promise<number> {
  const text = "select count(*) from message where kind = 'spawn' and job_no = $1";
  return (await sql.all(text, [jobNo]))[0]?.[0] as number;
}

export async function pendingSpawns(sql: Sql, limit: number): Promise<Message[]> {
  return (await sql.all(spawns(sql), [limit])).map(messageFrom);
}

export async function endMessage(
  sql: Sql,
  no: number,
  status: Message['status'],
  error: string | null,
  at: number,
): Promise<void> {
  const delivered = status === 'delivered' ? at : null;
  await sql.run('update message set status = $2, error = $3, delivered_at = $4 where no = $1', [
    no,
    status,
    error,
    delivered,
  ]);
}

export async function message(sql: Sql, id: string): Promise<Message | null> {
  const [row] = await sql.all(`select ${SELECTED} from message where id = $1`, [id]);
  return row === undefined ? null : messageFrom(row);
}

/** What nobody has dealt with yet stays. */
export function dropOldMessages(sql: Sql, before: number, limit: number) {
  return sql.run(
    `delete from message where no in (
       select no from message where created_at < $1 and status <> 'pending' order by no limit $2 + 0)`,
    [before, limit],
  );
}

/** Newest first. */
export async function messages(sql: Sql, filter: MessageFilter): Promise<Message[]> {
  const params: Value[] = [];
  const bind = (value: Value): string => `$${params.push(value)}`;
  const kind = filter.kind === undefined ? '' : ` and kind = ${bind(filter.kind)}`;
  const status = filter.status === undefined ? '' : ` and status = ${bind(filter.status)}`;
  const before = filter.before === undefined ? '' : ` and no < ${bind(filter.before)}`;
  const text = `select ${SELECTED} from message where no > 0${kind}${status}${before} order by no desc limit ${bind(filter.limit)} + 0`;
  return (await sql.all(text, params)).map(messageFrom);
}
