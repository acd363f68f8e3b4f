/** Messages between agents, and what they ask of the scheduler. */

import type { Message } from '../../domain/message.ts';
import { locking, perDialect, type Sql } from '../sql/driver.ts';
import { insertInto } from '../sql/table.ts';
import { MESSAGE } from '../sql/tables.ts';

const NEW = MESSAGE.unnumbered();

export async function insert(sql: Sql, message: Omit<Message, 'no'>): Promise<void> {
  await insertInto(sql, NEW, [message]);
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

/** What nobody has dealt with yet stays. */
export function dropOld(sql: Sql, before: number, limit: number) {
  return sql.run(
    `delete from message where no in (
       select no from message where created_at < $1 and status <> 'pending' order by no limit $2 + 0)`,
    [before, limit],
  );
}
