/** When a rule fires. The same everywhere: nothing here asks what time it is, or in which zone the server runs. */

import { Cron } from 'croner';
import type { TimeRule } from './schedule.ts';
import { type CronFields, readCron } from './schedule-cron.ts';
import { endOfGap, instantsAt, isZone, repeatAfter, wallAt } from './schedule-zone.ts';

export const CRON_CHARS = 128;
const TZ_CHARS = 64;
/** Compiled expressions kept; a server has far fewer in use. */
const KEPT = 1_000;
/** Enough for every minute of a day. */
const KEPT_TIMES = 1_440;
const DAY_MS = 86_400_000;
/** Beyond this a day more or less is no valid date. */
const LAST_INSTANT = 8_640_000_000_000_000 - 2 * 86_400_000;
/** Where the search for a first tick begins when an expression is judged. */
const ANY_START = Date.UTC(2026, 0, 1);

/** The first tick strictly after an instant; null when there is none. */
export function nextAfter(rule: TimeRule, afterMs: number): number | null {
  if (!(Math.abs(afterMs) <= LAST_INSTANT)) return null;
  switch (rule.kind) {
    case 'cron':
      return nextOfCron(compiled(rule.cron), rule.tz, afterMs);
    case 'every':
      return nextOfEvery(rule.everyMs, rule.anchorAt, afterMs);
    case 'at':
      return afterMs < rule.at ? rule.at : null;
  }
}

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

/** Why a cron expression and its zone cannot be used; null when they can. */
export function cronProblem(
  cron: string,
  tz: string,
): { field: 'schedule_cron' | 'schedule_tz'; problem: string } | null {
  const problem = syntaxProblem(cron);
  if (problem !== null)
    return { field: 'schedule_cron', problem: `schedule_cron cannot be used: ${problem}.` };
  if (tz.length > TZ_CHARS || !isZone(tz))
    return {
      field: 'schedule_tz',
      problem: `schedule_tz ${JSON.stringify(tz.slice(0, TZ_CHARS))} is not a known time zone; use a name such as UTC or Europe/Stockholm.`,
    };
  if (nextAfter({ kind: 'cron', cron, tz: 'UTC' }, ANY_START) !== null) return null;
  return {
    field: 'schedule_cron',
    problem: `schedule_cron "${cron}" names a date that never comes; correct its day and month.`,
  };
}

function syntaxProblem(cron: string): string | null {
  if (cron.length > CRON_CHARS) return `it is longer than ${CRON_CHARS} characters`;
  if (/\p{Cc}/u.test(cron)) return 'it contains a control character';
  const read = readCron(cron);
  return read.ok ? null : read.problem;
}

interface Compiled {
  /** Its times of day, ascending, and a day on which they count: most next ticks are found without a calendar. */
  readonly times: readonly number[];
  dayNo: number | null;
  /** Told to think in UTC, so that it walks the wall clock and leaves the zone's changes to us. */
  readonly wall: Cron;
  /** Runs through the hours of a day: a change of the clock moves none of its ticks. */
  readonly hourly: boolean;
  /** Repeats within the hour or the day, as opposed to naming its times: it goes on when the clock is put back. */
  readonly repeating: boolean;
}

const memory = new Map<string, Compiled>();

function compiled(cron: string): Compiled {
  const known = memory.get(cron);
  if (known !== undefined) return known;
  const read = readCron(cron);
  if (!read.ok) throw new RangeError(`The cron expression "${cron}" cannot be used: ${read.problem}.`);
  const fresh = compile(read.fields);
  if (memory.size >= KEPT) memory.clear();
  memory.set(cron, fresh);
  return fresh;
}

function compile({ second, minute, hour, dayOfMonth, month, dayOfWeek }: CronFields): Compiled {
  const texts = [second, minute, hour, dayOfMonth, month, dayOfWeek].map(({ text }) => text);
  const hourly = hour.values.length === 24;
  return {
    times: timesOfDay(hour.values, minute.values, second.values),
    dayNo: null,
    wall: new Cron(texts.join(' '), { utcOffset: 0, paused: true, mode: '6-part' }),
    hourly,
    repeating: hourly || [second, minute, hour].some(({ text }) => text.includes('*')),
  };
}

/** None when there are too many to be worth keeping. */
function timesOfDay(
  hours: readonly number[],
  minutes: readonly number[],
  seconds: readonly number[],
): number[] {
  if (hours.length * minutes.length * seconds.length > KEPT_TIMES) return [];
  const times = hours.flatMap((hour) =>
    minutes.flatMap((minute) => seconds.map((second) => (hour * 60 + minute) * 60 + second)),
  );
  return times.map((time) => time * 1_000);
}

function nextOfCron(cron: Compiled, tz: string, after: number): number | null {
  const from = wallAt(tz, after);
  let wall: number | null = from;
  let tick: number | undefined;
  while (tick === undefined) {
    wall = nextWall(cron, wall);
    if (wall === null) break;
    tick = ticksAt(cron, tz, wall).find((instant) => instant > after);
  }
  const repeat = cron.repeating ? repeatAfter(tz, after) : null;
  if (repeat === null) return tick ?? null;
  // The clock will show this hour again: what has passed in it comes back before what follows it.
  const again = nextWall(cron, repeat.from - 1);
  const back = again === null || again > from ? Number.POSITIVE_INFINITY : again - repeat.shift;
  return Math.min(tick ?? back, back);
}

/** A named time that the clock skips is made up for at once; one that it shows twice counts the first time. */
function ticksAt(cron: Compiled, tz: string, wall: number): readonly number[] {
  const instants = instantsAt(tz, wall);
  if (instants.length === 0) return cron.hourly ? [] : [endOfGap(tz, wall)];
  return cron.repeating ? instants : instants.slice(0, 1);
}

/** Strictly after, to the millisecond: croner drops the fraction, and goes on with the next second. */
function nextWall(cron: Compiled, wall: number): number | null {
  const midnight = Math.floor(wall / DAY_MS) * DAY_MS;
  const today = cron.dayNo === midnight / DAY_MS ? firstAbove(cron.times, wall - midnight) : undefined;
  if (today !== undefined) return midnight + today;
  const next = cron.wall.nextRun(new Date(wall))?.getTime() ?? null;
  cron.dayNo = next === null ? null : Math.floor(next / DAY_MS);
  return next;
}

function firstAbove(ascending: readonly number[], value: number): number | undefined {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? 0) > value) high = middle;
    else low = middle + 1;
  }
  return ascending[low];
}

function nextOfEvery(everyMs: number, anchorAt: number, after: number): number | null {
  if (after < anchorAt) return anchorAt;
  if (!(everyMs > 0)) return null;
  const tick = anchorAt + (Math.floor((after - anchorAt) / everyMs) + 1) * everyMs;
  return tick <= LAST_INSTANT ? tick : null;
}
