/** Fires what the clock says is due. Every tick fires once, or is written down as missed. */

import { SYSTEM } from '../domain/actor.ts';
import { nextAfter, ticksBetween } from '../domain/cron.ts';
import { LIMITS } from '../domain/limits.ts';
import { type Schedule, timeRule, type TimeRule } from '../domain/schedule.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import { fire } from './firing.ts';
import type { Ledger } from './ledger.ts';

/** A tick that is no older than this is on time: the timer was late, nobody was away. */
const GRACE_MS = 30_000;

/** One transaction for up to `limit` schedules; answers how many were due. */
export async function fireDue(core: Core, limit: number): Promise<number> {
  // Read before the transaction, so that making the runs needs no second connection.
  await core.types();
  return core.flusher.transact(SYSTEM, async (tx, ledger) => {
    const due = await tx.dueSchedules(ledger.now, limit);
    for (const schedule of due) await fireTicks(core, tx, ledger, schedule);
    if (due.length > 0) await tx.saveSchedules(due);
    return due.length;
  });
}

async function fireTicks(core: Core, tx: Tx, ledger: Ledger, schedule: Schedule): Promise<void> {
  const rule = timeRule(schedule);
  const first = schedule.nextRunAt;
  if (rule === null || first === null) {
    schedule.nextRunAt = null;
    return;
  }
  const { ticks: later, more } = ticksBetween(rule, first, ledger.now, LIMITS.ticksPerPass);
  const ticks = [first, ...later];
  const last = ticks.at(-1) as number;
  // After a very long time the oldest ticks are written down first; the next pass goes on behind them.
  const wanted = more ? [] : toFire(schedule, ticks, ledger.now);
  await missed(tx, ledger, schedule, ticks.slice(0, ticks.length - wanted.length));
  for (const at of wanted) {
    if (!(await tx.takeTick(schedule.id, at, ledger.now))) continue;
    const late = ledger.now - at > GRACE_MS || at !== last;
    const kind = late ? 'catch_up' : 'cron';
    // Beside those that are made up for, the one that is on time waits in line too: it would be skipped because of them.
    const inLine = late || wanted.length > 1;
    const job = await fire(core, tx, ledger, schedule, { kind, dueAt: at, inLine });
    await tx.nameTick(schedule.id, at, job.no);
  }
  advance(schedule, rule, last, ledger.now);
}

/** The newest ticks, as many as the schedule wants made up for. */
function toFire({ spec }: Schedule, ticks: readonly number[], now: number): readonly number[] {
  const last = ticks.at(-1) as number;
  if (now - last <= GRACE_MS && (spec.catchUp !== 'all' || ticks.length === 1)) return [last];
  const windowMs = spec.catchUpWindowS * 1_000;
  const recent = ticks.filter((at) => now - at <= Math.max(windowMs, GRACE_MS));
  if (spec.catchUp === 'skip') return [];
  return spec.catchUp === 'once' ? recent.slice(-1) : recent.slice(-Math.max(1, spec.catchUpMax));
}

async function missed(tx: Tx, ledger: Ledger, { id }: Schedule, ticks: readonly number[]): Promise<void> {
  const [at] = ticks;
  if (at === undefined) return;
  const untilAt = ticks.at(-1) as number;
  const reason = 'nobody was there to fire it';
  await tx.addMissed([{ scheduleId: id, at, untilAt, n: ticks.length, reason, recordedAt: ledger.now }]);
}

function advance(schedule: Schedule, rule: TimeRule, last: number, now: number): void {
  schedule.nextRunAt = nextAfter(rule, last);
  schedule.updatedAt = now;
  // A moment that has passed comes once.
  if (rule.kind === 'at') schedule.enabled = false;
}
