/** How failures hold a schedule back, and what ends that. */

import { nextAfter, ticksBetween } from '../domain/cron.ts';
import { LIMITS } from '../domain/limits.ts';
import { holdBackMs, LONGEST_HOLD_MS, type Schedule, timeRule } from '../domain/schedule.ts';
import type { Tx } from '../store/store.ts';

/** When it fires next, seen from now; a moment that has just passed still counts. */
export function firstTick(
  schedule: Pick<Schedule, 'spec' | 'createdAt' | 'enabled'>,
  now: number,
): number | null {
  const rule = schedule.enabled ? timeRule(schedule) : null;
  if (rule === null) return null;
  return rule.kind === 'at' ? rule.at : nextAfter(rule, now);
}

/** After failures the next tick comes later; those in between are written down. */
export async function holdBack(tx: Tx, now: number, schedule: Schedule): Promise<void> {
  const rule = timeRule(schedule);
  const until = now + holdBackMs(schedule.consecutiveErrors);
  const { nextRunAt } = schedule;
  if (rule === null || nextRunAt === null || nextRunAt >= until) return;
  const { ticks } = ticksBetween(rule, nextRunAt, until - 1, LIMITS.ticksPerPass);
  const untilAt = ticks.at(-1) ?? nextRunAt;
  const reason = `held back after ${schedule.consecutiveErrors} failures in a row`;
  await tx.addMissed([
    { scheduleId: schedule.id, at: nextRunAt, untilAt, n: ticks.length + 1, reason, recordedAt: now },
  ]);
  schedule.nextRunAt = until;
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
  const rule = timeRule(schedule);
  const rows = await tx.missedBeyond(schedule.id, now - LONGEST_HOLD_MS, now);
  for (const { at, reason, recordedAt } of rows) {
    await tx.dropTick(schedule.id, at);
    if (at > now) continue;
    const { ticks } = rule === null ? { ticks: [] } : ticksBetween(rule, at, now, LIMITS.ticksPerPass);
    const untilAt = ticks.at(-1) ?? at;
    await tx.addMissed([{ scheduleId: schedule.id, at, untilAt, n: ticks.length + 1, reason, recordedAt }]);
  }
}
