/** Events, counters, outbox: what every commit leaves beside the rows it changed. */

import type { Idempotency } from '../../domain/command.ts';
import type { JobEvent } from '../../domain/event.ts';
import type { State } from '../../domain/job.ts';
import type { OutboxDraft, OutboxRow } from '../store.ts';
import { locking, perDialect, type Shape, type Sql } from './driver.ts';
import { entriesText, EVENT, eventRow } from './event-row.ts';
import { flushKey } from './flush-key.ts';

// With one writer a flush's number is at once its place in the feed. On PostgreSQL it is drawn after the last row lock,
// so that flushes of one job are numbered in job order.
const newFlush = perDialect((dialect) =>
  dialect === 'sqlite'
    ? `insert into flush (no, pos, key, at, last, entries)
       select n, n, n, $1, $2, $3 from (select coalesce(max(no), 0) + 1 as n from flush)`
    : `insert into flush (at, last, entries, key)
       values ($1, $2, $3, ${flushKey({ dialect })}::bigint)`,
);

export async function addToFeed(sql: Sql, events: readonly JobEvent[], at: number): Promise<void> {
  await sql.run(newFlush(sql), [at, events.length - 1, entriesText(events, (place) => place)]);
}

/** Events that come without a change of their job's row. */
export async function appendEvents(sql: Sql, events: readonly JobEvent[], at: number): Promise<void> {
  await Promise.all([sql.insert(EVENT, events.map(eventRow)), addToFeed(sql, events, at)]);
}

/** Only one server numbers at a time; the others find the lock taken and leave it to that one. */
export async function numberFlushes(sql: Sql, limit: number): Promise<number> {
  if (sql.dialect === 'sqlite') return 0;
  const [lock] = await sql.all(
    "select case when pg_try_advisory_xact_lock(hashtext('spine.feed')) then 1 else 0 end",
    [],
  );
  if (lock?.[0] !== 1) return 0;
  const text = `
    update flush set pos = numbered.pos
    from (
      select no, nextval('feed_pos') as pos from (select no from flush where pos is null order by no limit $1 + 0) as todo
    ) as numbered
    where flush.no = numbered.no`;
  return sql.run(text, [limit]);
}

const COUNTER: Shape = {
  table: 'counter',
  columns: [
    ['lane', 'text'],
    ['target', 'text'],
    ['state', 'text'],
    ['n', 'bigint'],
  ],
  onConflict: 'on conflict (lane, target, state) do update set n = counter.n + excluded.n',
};

export function addCounts(
  sql: Sql,
  lane: string,
  deltas: readonly { target: string; state: State; by: number }[],
) {
  return sql.insert(
    COUNTER,
    deltas.map((delta) => [lane, delta.target, delta.state, delta.by]),
  );
}

const OUTBOX: Shape = {
  table: 'outbox',
  columns: [
    ['channel', 'text'],
    ['kind', 'text'],
    ['job_no', 'bigint'],
    ['body', 'text'],
    ['run_at', 'bigint'],
    ['attempts', 'bigint'],
    ['created_at', 'bigint'],
  ],
};

export function addOutbox(sql: Sql, rows: readonly OutboxDraft[]) {
  return sql.insert(
    OUTBOX,
    rows.map((row) => [row.channel, row.kind, row.jobNo, row.body, row.at, 0, row.at]),
  );
}

const dueOutbox = perDialect(
  (dialect) =>
    `select no, channel, kind, job_no, body, created_at, attempts from outbox where run_at <= $1
     order by run_at, no limit $2 + 0${locking({ dialect }, 'for update skip locked')}`,
);

/** Takes due rows for a while: if the sender dies, they come up again. */
export async function claimOutbox(
  sql: Sql,
  now: number,
  limit: number,
  leaseMs: number,
): Promise<OutboxRow[]> {
  const rows = await sql.all(dueOutbox(sql), [now, limit]);
  for (const row of rows) {
    await sql.run('update outbox set run_at = $2, attempts = attempts + 1 where no = $1', [
      row[0] ?? null,
      now + leaseMs,
    ]);
  }
  return rows.map((row) => ({
    no: row[0] as number,
    channel: row[1] as string,
    kind: row[2] as string,
    jobNo: row[3] as number | null,
    body: row[4] as string,
    at: row[5] as number,
    attempts: (row[6] as number) + 1,
  }));
}

const IDEMPOTENCY: Shape = {
  table: 'idempotency',
  columns: [
    ['principal', 'text'],
    ['key', 'text'],
    ['body_hash', 'text'],
    ['job_ids', 'text'],
    ['at', 'bigint'],
  ],
};

export async function findIdempotent(sql: Sql, key: Pick<Idempotency, 'principal' | 'key'>) {
  const text = 'select body_hash, job_ids from idempotency where principal = $1 and key = $2';
  const [row] = await sql.all(text, [key.principal, key.key]);
  return row === undefined
    ? null
    : { bodyHash: row[0] as string, jobIds: JSON.parse(row[1] as string) as string[] };
}

export function rememberIdempotent(
  sql: Sql,
  rows: readonly (Idempotency & { jobIds: string[]; at: number })[],
) {
  return sql.insert(
    IDEMPOTENCY,
    rows.map((row) => [row.principal, row.key, row.bodyHash, JSON.stringify(row.jobIds), row.at]),
  );
}
