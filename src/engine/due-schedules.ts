/** Fires what the clock says is due. Every tick fires once, or is written down as missed. */

import { loopActor } from '../domain/actor.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Schedule } from '../domain/schedule.ts';
import { clockOf, isUsedUp, nextTick, type ScheduleClock, ticksOf } from '../domain/schedule-clock.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import { fire } from './firing.ts';
import type { ChangeSet } from './change-set.ts';

const SCHEDULER = loopActor('scheduler');

/** A tick that is no older than this is on time: the timer was late, nobody was away. */
const GRACE_MS = 30_000;

/** One transaction for up to `limit` schedules; answers how many were due. */
export async function fireDue(core: Core, limit: number): Promise<number> {
  // Read before the transaction, so that making the runs needs no second connection.
  await core.types();
  return core.flusher.transact(SCHEDULER, async (tx, changeSet) => {
    const due = await tx.schedules.due(changeSet.now, limit);
    for (const schedule of due) await fireTicks(core, tx, changeSet, schedule);
    if (due.length > 0) await tx.schedules.save(due);
    return due.length;
  });
}

async function fireTicks(core: Core, tx: Tx, changeSet: ChangeSet, schedule: Schedule): Promise<void> {
  const clock = clockOf(schedule);
  const first = schedule.nextRunAt;
  if (clock === null || first === null) {
    schedule.nextRunAt = null;
    return;
  }
  const { ticks: later, more } = ticksOf(clock, first, changeSet.now, LIMITS.ticksPerPass);
  const ticks = [first, ...later];
  const last = ticks.at(-1) as number;
  // After a very long time the oldest ticks are written down first; the next pass goes on behind them.
  const wanted = more ? [] : toFire(schedule, ticks, changeSet.now);
  await missed(tx, changeSet, schedule, ticks.slice(0, ticks.length - wanted.length));
  for (const at of wanted) {
    if (isUsedUp(schedule)) break;
    const late = changeSet.now - at > GRACE_MS || at !== last;
    const kind = late ? 'catch_up' : 'cron';
    if (schedule.spec.probe !== null) {
      if (await tx.ticks.takeToProbe({ scheduleId: schedule.id, at, kind }, changeSet.now))
        changeSet.effects.probing = true;
      continue;
    }
    if (!(await tx.ticks.take(schedule.id, at, changeSet.now))) continue;
    // Beside those that are made up for, the one that is on time waits in line too: it would be skipped because of them.
    const inLine = late || wanted.length > 1;
    const job = await fire(core, tx, changeSet, schedule, { kind, dueAt: at, inLine });
    await tx.ticks.nameJob(schedule.id, at, job.no);
  }
  advance(schedule, clock, last, changeSet.now);
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

async function missed(
  tx: Tx,
  changeSet: ChangeSet,
  { id }: Schedule,
  ticks: readonly number[],
): Promise<void> {
  const [at] = ticks;
  if (at === undefined) return;
  const untilAt = ticks.at(-1) as number;
  const reason = 'nobody was there to fire it';
  await tx.ticks.addMissed([
    { scheduleId: id, at, untilAt, n: ticks.length, reason, recordedAt: changeSet.now },
  ]);
}

function advance(schedule: Schedule, clock: ScheduleClock, last: number, now: number): void {
  schedule.nextRunAt = isUsedUp(schedule) ? null : nextTick(clock, last);
  schedule.updatedAt = now;
  // A moment that has passed comes once, and after the last tick of a rule none comes.
  if (schedule.nextRunAt === null) schedule.enabled = false;
}
