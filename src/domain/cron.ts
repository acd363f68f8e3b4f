/**
 * When a rule fires. The same everywhere: nothing here asks what time it is, or in which zone the server runs.
 * Croner finds the days. Left to find the times too, it fires "30 1,13" twice when the clock is put back, leaves out
 * "30 2,14" when it is put forward, and needs 90 us for a tick: a thousand at once would hold up all others.
 */

import type { TimeRule } from './schedule.ts';
import { type CronRule, readCron } from './cron-syntax.ts';
import { endOfGap, instantsAt, repeatAfter, wallAt } from './time-zone.ts';

const DAY_MS = 86_400_000;
/** Beyond this a day more or less is no valid date. */
const LAST_INSTANT = 8_640_000_000_000_000 - 2 * DAY_MS;
/** Where the search for a first tick begins when an expression is judged. */
const ANY_START = Date.UTC(2026, 0, 1);

/** The first tick strictly after an instant; null when there is none. */
export function nextAfter(rule: TimeRule, afterMs: number): number | null {
  if (!(Math.abs(afterMs) <= LAST_INSTANT)) return null;
  switch (rule.kind) {
    case 'cron':
      return nextOfCron(ruleOf(rule.cron), rule.tz, afterMs);
    case 'every':
      return nextOfEvery(rule.everyMs, rule.anchorAt, afterMs);
    case 'at':
      return afterMs < rule.at ? rule.at : null;
  }
}

/** Why a cron expression cannot be used; null when it can. */
export function cronProblem(cron: string): string | null {
  const read = readCron(cron);
  if (!read.ok) return `schedule_cron cannot be used: ${read.problem}.`;
  if (nextAfter({ kind: 'cron', cron, tz: 'UTC' }, ANY_START) !== null) return null;
  return `schedule_cron "${cron}" names a date that never comes; correct its day and month.`;
}

function ruleOf(cron: string): CronRule {
  const read = readCron(cron);
  if (!read.ok) throw new RangeError(`The cron expression "${cron}" cannot be used: ${read.problem}.`);
  return read.rule;
}

function nextOfCron(cron: CronRule, tz: string, after: number): number | null {
  const from = wallAt(tz, after);
  let wall: number | null = from;
  let tick: number | undefined;
  while (tick === undefined) {
    wall = nextWall(cron, wall);
    if (wall === null) break;
    tick = ticksAt(cron, tz, wall).find((instant) => instant > after);
  }
  const repeat = repeats(cron) ? repeatAfter(tz, after) : null;
  if (repeat === null) return tick ?? null;
  // The clock will show this hour again: what has passed in it comes back before what follows it.
  const again = nextWall(cron, repeat.from - 1);
  const back = again === null || again > from ? Number.POSITIVE_INFINITY : again - repeat.shift;
  return Math.min(tick ?? back, back);
}

/** A named time that the clock skips is made up for at once; one that it shows twice counts the first time. */
function ticksAt(cron: CronRule, tz: string, wall: number): readonly number[] {
  const instants = instantsAt(tz, wall);
  if (instants.length === 0) return isHourly(cron) ? [] : [endOfGap(tz, wall)];
  return repeats(cron) ? instants : instants.slice(0, 1);
}

/** Runs through the hours of a day: a change of the clock moves none of its ticks. */
function isHourly({ hour }: CronRule): boolean {
  return hour.values.length === 24;
}

/** Repeats within the hour or the day, as opposed to naming its times: it goes on when the clock is put back. */
function repeats(cron: CronRule): boolean {
  return isHourly(cron) || [cron.second, cron.minute, cron.hour].some(({ text }) => text.includes('*'));
}

/** The first time on the wall strictly after another. */
function nextWall(cron: CronRule, after: number): number | null {
  const today = Math.floor(after / DAY_MS) * DAY_MS;
  const time = timeAfter(cron, after - today);
  const day = dayFrom(cron, time === undefined ? today + DAY_MS : today);
  return day === null ? null : day + ((day === today ? time : timeAfter(cron, -1)) ?? 0);
}

/** The first of its days that is not before one; croner itself looks strictly later, by whole seconds. */
function dayFrom(cron: CronRule, midnight: number): number | null {
  return cron.days.nextRun(new Date(midnight - 1_000))?.getTime() ?? null;
}

function timeAfter({ hour, minute, second }: CronRule, after: number): number | undefined {
  for (const h of hour.values) {
    if ((h + 1) * 3_600_000 <= after) continue;
    for (const m of minute.values) {
      const start = h * 3_600_000 + m * 60_000;
      const s = start + 60_000 > after ? second.values.find((s) => start + s * 1_000 > after) : undefined;
      if (s !== undefined) return start + s * 1_000;
    }
  }
  return undefined;
}

function nextOfEvery(everyMs: number, anchorAt: number, after: number): number | null {
  if (after < anchorAt) return anchorAt;
  if (!(everyMs > 0)) return null;
  const tick = anchorAt + (Math.floor((after - anchorAt) / everyMs) + 1) * everyMs;
  return tick <= LAST_INSTANT ? tick : null;
}
