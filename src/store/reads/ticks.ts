/** Ticks of schedules that came to nothing. */

import type { Tick } from '../../domain/tick.ts';
import type { Row, Sql } from '../sql/driver.ts';
import { only } from '../sql/rows.ts';

const ROWS = 'select at, until_at, n, reason, recorded_at, fate from tick where schedule_id = $1';
const MISSED = `${ROWS} and fate = 'missed'`;
const UNFIRED = `${ROWS} and fate in ('missed', 'skipped')`;

/** The newest ones, those that were skipped by their probe included. */
export async function missed(sql: Sql, scheduleId: string, limit: number): Promise<Tick[]> {
  const rows = await sql.all(`${UNFIRED} order by at desc limit $2 + 0`, [scheduleId, limit]);
  return rows.map((row) => missedFrom(scheduleId, row));
}

/**
 * Rows of missed ticks that begin after `after` and reach beyond `beyond`. Served by the primary key: `after` keeps it
 * from walking the whole history.
 */
export async function missedBeyond(
  sql: Sql,
  scheduleId: string,
  after: number,
  beyond: number,
): Promise<Tick[]> {
  const text = `${MISSED} and at > $2 and until_at > $3 order by at`;
  return (await sql.all(text, [scheduleId, after, beyond])).map((row) => missedFrom(scheduleId, row));
}

/** When a probe is to be asked next; null when none waits. */
export function nextProbeAt(sql: Sql): Promise<number | null> {
  return only<number | null>(sql, "select min(probe_until) from tick where fate = 'probing'", []);
}

function missedFrom(scheduleId: string, [at, untilAt, n, reason, recordedAt, fate]: Row): Tick {
  return {
    scheduleId,
    fate: fate as Tick['fate'],
    jobNo: null,
    at: at as number,
    untilAt: untilAt as number,
    n: n as number,
    reason: reason as string | null,
    recordedAt: recordedAt as number,
  };
}
