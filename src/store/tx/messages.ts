/** Messages between agents, and what they ask of the scheduler. */

import type { Message } from '../../domain/message.ts';
import { locking, perDialect, type Sql } from '../sql/driver.ts';
import { MESSAGE } from '../sql/tables.ts';

const NEW = MESSAGE.unnumbered();

/** Answers its number. */
export async function insert(sql: Sql, message: Omit<Message, 'no'>): Promise<number> {
  const [no = 0] = await sql.insertNumbered(NEW.shape, [NEW.row(message)], 'id');
  return no;
}

const spawns = perDialect(
  (dialect) =>
    `select ${MESSAGE.selected} from message where kind = 'spawn' and status = 'pending' order by no limit $1 + 0${locking({ dialect }, 'for update skip locked')}`,
);

/** Requests to spawn that nobody has looked at, locked. */
export async function pendingSpawns(sql: Sql, limit: number): Promise<Message[]> {
  return (await sql.all(spawns(sql), [limit])).map((row) => MESSAGE.from(row));
}

export async function end(
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

const SOME = 'select 1 from receipt where receipt.message_no = message.no';

/** Of those who were sent it, one has not got it and still may. */
const isOpen = `exists (${SOME} and receipt.open = 1)`;
const isUnread = `exists (${SOME} and receipt.read_at is null)`;

/** Somebody whom we know will still get it. */
const waits = (now: string): string => `exists (${SOME} and receipt.open = 1
  and (receipt.expires_at is null or receipt.expires_at > ${now}) and exists (select 1 from agent where agent.id = receipt.agent))`;

/** Moments: `brief` for what was delivered but not read, and for reports; `before` for what is done with, and for broadcasts. */
export interface Keeping {
  readonly brief: number;
  readonly before: number;
  readonly now: number;
}

/** What nobody has dealt with yet stays, unless it has run out, only reports something that has arrived, or waits for a name without an agent. Served by message_by_age. */
export async function dropOld(sql: Sql, { brief, before, now }: Keeping, limit: number): Promise<number> {
  const old = await sql.all(
    `select no from message where created_at < $1 and (
       (kind in ('system', 'result') and not ${waits('$3')})
       or (kind <> 'spawn' and not (expires_at is not null and expires_at <= $3) and exists (${SOME}) and not ${isOpen} and ${isUnread})
       or (created_at < $2 and (
         (kind = 'spawn' and status <> 'pending')
         or (kind <> 'spawn' and expires_at is not null and expires_at <= $3)
         or (kind <> 'spawn' and exists (${SOME}) and not ${isOpen})
         or (kind <> 'spawn' and not exists (select 1 from agent where agent.id = recipient))
         or recipient = 'broadcast')))
     order by created_at limit $4 + 0`,
    [brief, before, now, limit],
  );
  const nos = old.map(([no]) => no as number);
  for (const table of ['receipt', 'message'] as const) {
    const column = table === 'receipt' ? 'message_no' : 'no';
    const one = `delete from ${table} where ${column} = $1`;
    await sql.byKeys({ one, many: `delete from ${table} where ${column} = any($1::bigint[])` }, nos);
  }
  return nos.length;
}
