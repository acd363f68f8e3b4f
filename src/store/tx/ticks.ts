/** Ticks of schedules: each is taken once. */

import type { Tick } from '../../domain/tick.ts';
import type { Shape, Sql } from '../sql/driver.ts';

/** False when this tick was taken before. */
export async function take(sql: Sql, scheduleId: string, at: number, now: number): Promise<boolean> {
  const text = `insert into tick (schedule_id, at, fate, until_at, n, recorded_at) values ($1, $2, 'fired', $2, 1, $3)
    on conflict do nothing`;
  return (await sql.run(text, [scheduleId, at, now])) > 0;
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
