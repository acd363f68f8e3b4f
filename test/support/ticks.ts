import { nextAfter } from '../../src/domain/cron.ts';
import type { TimeRule } from '../../src/domain/schedule.ts';

/** The ticks with `after < tick <= until`, oldest first; `more` when the limit left some out. */
export function ticksBetween(
  rule: TimeRule,
  afterMs: number,
  untilMs: number,
  limit: number,
): { ticks: number[]; more: boolean } {
  const ticks: number[] = [];
  let tick = nextAfter(rule, afterMs);
  while (tick !== null && tick <= untilMs) {
    if (ticks.length >= limit) return { ticks, more: true };
    ticks.push(tick);
    tick = nextAfter(rule, tick);
  }
  return { ticks, more: false };
}
