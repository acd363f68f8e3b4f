/** Ticks of schedules: each is taken once. */

import type { ProbedTick, Tick } from '../../domain/tick.ts';
import { locking, perDialect, type Shape, type Sql } from '../sql/driver.ts';

/** False when this tick was taken before. */
export async function take(sql: Sql, scheduleId: string, at: number, now: number): Promise<boolean> {
  const text = `insert into tick (schedule_id, at, fate, until_at, n, recorded_at) values ($1, $2, 'fired', $2, 1, $3)
    on conflict do nothing`;
  return (await sql.run(text, [scheduleId, at, now])) > 0;
}

/** The same of a tick whose probe is to be asked first. */
export async function takeToProbe(sql: Sql, { scheduleId, at, kind }: ProbedTick, now: number) {
  const text = `insert into tick (schedule_id, at, fate, until_at, n, recorded_at, kind, probe_until)
    values ($1, $2, 'probing', $2, 1, $3, $4, 0) on conflict do nothing`;
  return (await sql.run(text, [scheduleId, at, now, kind])) > 0;
}

// Served by tick_probing.
const toProbe = perDialect(
  (dialect) =>
    `select schedule_id, at, kind from tick where fate = 'probing' and probe_until <= $1
     order by probe_until limit $2 + 0${locking({ dialect }, 'for update skip locked')}`,
);

/** Those whose probes nobody asks. */
export async function lockToProbe(sql: Sql, now: number, limit: number): Promise<ProbedTick[]> {
  return (await sql.all(toProbe(sql), [now, limit])).map((row) => ({
    scheduleId: row[0] as string,
    at: row[1] as number,
    kind: row[2] as ProbedTick['kind'],
  }));
}

/** Until then nobody else asks its probe. */
export async function holdProbe(sql: Sql, { scheduleId, at }: ProbedTick, until: number): Promise<void> {
  const text = `update tick set probe_until = $3 where schedule_id = $1 and at = $2 and fate = 'probing'`;
  await sql.run(text, [scheduleId, at, until]);
}

/** What came of the probe; false when that was settled before. */
export async function settleProbe(
  sql: Sql,
  { scheduleId, at }: ProbedTick,
  fate: 'fired' | 'skipped',
  reason: string | null,
): Promise<boolean> {
  const text = `update tick set fate = $3, reason = $4, probe_until = null
    where schedule_id = $1 and at = $2 and fate = 'probing'`;
  return (await sql.run(text, [scheduleId, at, fate, reason])) > 0;
}

/** Says which job the tick made. */
export async function nameJob(sql: Sql, scheduleId: string, at: number, jobNo: number): Promise<void> {
  await sql.run('update tick set job_no = $3 where schedule_id = $1 and at = $2', [scheduleId, at, jobNo]);
}

const TICK: Shape = {
  table: 'tick',
  columns: [
    ['schedule_id', 'text'],
    ['at', 'bigint'],
    ['fate', 'text'],
    ['until_at', 'bigint'],
    ['n', 'bigint'],
    ['reason', 'text'],
    ['recorded_at', 'bigint'],
  ],
  onConflict: 'on conflict do nothing',
};

export function addMissed(sql: Sql, rows: readonly Omit<Tick, 'fate' | 'jobNo'>[]) {
  return sql.insert(
    TICK,
    rows.map((row) => [row.scheduleId, row.at, 'missed', row.untilAt, row.n, row.reason, row.recordedAt]),
  );
}

export async function drop(sql: Sql, scheduleId: string, at: number): Promise<void> {
  await sql.run('delete from tick where schedule_id = $1 and at = $2', [scheduleId, at]);
}

export function dropOld(sql: Sql, before: number, limit: number) {
  const text = `delete from tick where (schedule_id, at) in (
    select schedule_id, at from tick where recorded_at < $1 order by recorded_at limit $2 + 0)`;
  return sql.run(text, [before, limit]);
}
