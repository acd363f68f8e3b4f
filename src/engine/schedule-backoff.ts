/** How failures hold a schedule back, and what ends that. */

import { LIMITS } from '../domain/limits.ts';
import { holdBackMs, LONGEST_HOLD_MS, type Schedule } from '../domain/schedule.ts';
import { clockOf, isUsedUp, nextTick, ticksOf } from '../domain/schedule-clock.ts';
import type { Tx } from '../store/store.ts';

/** When it fires next, seen from now; a moment that has just passed still counts. */
export function firstTick(
  schedule: Pick<Schedule, 'id' | 'spec' | 'createdAt' | 'enabled' | 'runCount'>,
  now: number,
): number | null {
  const clock = schedule.enabled && !isUsedUp(schedule) ? clockOf(schedule) : null;
  if (clock === null) return null;
  return clock.rule.kind === 'at' ? clock.rule.at : nextTick(clock, now);
}

/** After failures the next tick comes later; those in between are written down. */
export async function holdBack(tx: Tx, now: number, schedule: Schedule): Promise<void> {
  const clock = clockOf(schedule);
  const until = now + holdBackMs(schedule.consecutiveErrors);
  const { nextRunAt } = schedule;
  if (clock === null || nextRunAt === null || nextRunAt >= until) return;
  // The end of an earlier hold, which comes later now, is no tick itself.
  const { ticks } = ticksOf(clock, nextRunAt - 1, until - 1, LIMITS.ticksPerPass);
  const [at] = ticks;
  const untilAt = ticks.at(-1);
  const reason = `held back after ${schedule.consecutiveErrors} failures in a row`;
  if (at !== undefined && untilAt !== undefined)
    await tx.ticks.addMissed([
      { scheduleId: schedule.id, at, untilAt, n: ticks.length, reason, recordedAt: now },
    ]);
  const isOver = clock.endsAt !== null && until > clock.endsAt + clock.delayMs;
  schedule.nextRunAt = isOver ? null : until;
  if (isOver) schedule.enabled = false;
}

/** It works again: the next tick of its own rule counts, as if it had never been held back. */
export async function endHold(tx: Tx, now: number, schedule: Schedule): Promise<void> {
  const own = firstTick(schedule, now);
  if (own === null || schedule.nextRunAt === null) return;
  await forgetHeldTicks(tx, now, schedule);
  schedule.nextRunAt = Math.min(schedule.nextRunAt, Math.max(own, now));
}

/** Ticks that were to be left out and have not come yet are ticks like any other again: each may fire. */
export async function forgetHeldTicks(tx: Tx, now: number, schedule: Schedule): Promise<void> {
  const clock = clockOf(schedule);
  const rows = await tx.ticks.missedBeyond(schedule.id, now - LONGEST_HOLD_MS, now);
  for (const { at, reason, recordedAt } of rows) {
    await tx.ticks.drop(schedule.id, at);
    if (at > now) continue;
    const { ticks } = clock === null ? { ticks: [] } : ticksOf(clock, at, now, LIMITS.ticksPerPass);
    const untilAt = ticks.at(-1) ?? at;
    await tx.ticks.addMissed([
      { scheduleId: schedule.id, at, untilAt, n: ticks.length + 1, reason, recordedAt },
    ]);
  }
}
