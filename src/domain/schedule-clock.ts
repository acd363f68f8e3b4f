/** The clock of a schedule: when its rule says, a little later if it has jitter, and no longer than it is to go on. */

import { nextAfter } from './cron.ts';
import { type Schedule, timeRule, type TimeRule } from './schedule.ts';

export interface ScheduleClock {
  readonly rule: TimeRule;
  /** Of this schedule, always the same: its ticks stay as far apart as the rule has them. */
  readonly delayMs: number;
  readonly endsAt: number | null;
}

/** Null when only a parent or a hand fires it. */
export function clockOf(schedule: Pick<Schedule, 'id' | 'spec' | 'createdAt'>): ScheduleClock | null {
  const rule = timeRule(schedule);
  if (rule === null) return null;
  const { jitterS, endsAt } = schedule.spec;
  return { rule, delayMs: (hashOf(schedule.id) % (jitterS + 1)) * 1_000, endsAt };
}

/** The first tick strictly after an instant; null when there is none. A tick that is due by the end still comes. */
export function nextTick({ rule, delayMs, endsAt }: ScheduleClock, afterMs: number): number | null {
  const tick = nextAfter(rule, afterMs - delayMs);
  if (tick === null || (endsAt !== null && tick > endsAt)) return null;
  return tick + delayMs;
}

/** The ticks with `after < tick <= until`, oldest first; `more` when the limit left some out. */
export function ticksOf(
  clock: ScheduleClock,
  afterMs: number,
  untilMs: number,
  limit: number,
): { ticks: number[]; more: boolean } {
  const ticks: number[] = [];
  let tick = nextTick(clock, afterMs);
  while (tick !== null && tick <= untilMs) {
    if (ticks.length >= limit) return { ticks, more: true };
    ticks.push(tick);
    tick = nextTick(clock, tick);
  }
  return { ticks, more: false };
}

type Counted = Pick<Schedule, 'id' | 'spec' | 'createdAt' | 'runCount'>;

/** Why it will never fire again by itself; null while it may. */
export function overBecause(schedule: Counted, now: number): string | null {
  const { maxRuns, endsAt } = schedule.spec;
  if (isUsedUp(schedule))
    return `it has run ${schedule.runCount} times, and max_runs is ${maxRuns}; raise max_runs first`;
  if (endsAt === null) return null;
  const clock = clockOf(schedule);
  if (clock === null || nextTick(clock, now) !== null) return null;
  return `its ends_at has passed; choose a later one first`;
}

export function isUsedUp({ spec, runCount }: Pick<Schedule, 'spec' | 'runCount'>): boolean {
  return spec.maxRuns !== null && runCount >= spec.maxRuns;
}

/** FNV-1a: spreads ids evenly, and is the same on every server. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
