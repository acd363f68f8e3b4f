/** Notices that leave the house, kept until they are delivered. */

import type { OutboxDraft, OutboxRow } from '../../domain/outbox.ts';
import { locking, perDialect, type Shape, type Sql } from '../sql/driver.ts';

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

export function add(sql: Sql, rows: readonly OutboxDraft[]) {
  return sql.insert(
    OUTBOX,
    rows.map((row) => [row.channel, row.kind, row.jobNo, row.body, row.at, 0, row.at]),
  );
}

const due = perDialect(
  (dialect) =>
    `select no, channel, kind, job_no, body, created_at, attempts from outbox where run_at <= $1
     order by run_at, no limit $2 + 0${locking({ dialect }, 'for update skip locked')}`,
);

/** Takes due rows for a while: if the sender dies, they come up again. */
export async function claim(sql: Sql, now: number, limit: number, leaseMs: number): Promise<OutboxRow[]> {
  const rows = (await sql.all(due(sql), [now, limit])).map(
    ([no, channel, kind, jobNo, body, at, attempts]): OutboxRow => ({
      no: no as number,
      channel: channel as string,
      kind: kind as string,
      jobNo: jobNo as number | null,
      body: body as string,
      at: at as number,
      attempts: (attempts as number) + 1,
    }),
  );
  for (const { no, attempts } of rows)
    await sql.run('update outbox set run_at = $2, attempts = $3 where no = $1', [
      no,
      now + leaseMs,
      attempts,
    ]);
  return rows;
}

export async function remove(sql: Sql, no: number): Promise<void> {
  await sql.run('delete from outbox where no = $1', [no]);
}

export async function postpone(sql: Sql, no: number, runAt: number, error: string): Promise<void> {
  await sql.run('update outbox set run_at = $2, error = $3 where no = $1', [no, runAt, error]);
}

/** A notice that nobody took for as long as finished jobs are kept tells of a job that is gone. */
export function dropOld(sql: Sql, before: number, limit: number) {
  return sql.run(
    'delete from outbox where no in (select no from outbox where created_at < $1 order by no limit $2 + 0)',
    [before, limit],
  );
}
