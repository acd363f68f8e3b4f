/** A time rule as the sentence that answers show. It says less rather than something untrue: what is too complicated is quoted. */

import { isoTime } from './iso-time.ts';
import type { TimeRule } from './schedule.ts';
import { daysInWords, EVERY_DAY, joined } from './cron-day-words.ts';
import { type CronField, type CronRule, readCron } from './cron-syntax.ts';
import { offsetAt } from './time-zone.ts';

/** More times of day than this are quoted. */
const LISTED_TIMES = 4;

export function ruleInWords(rule: TimeRule | null): string {
  switch (rule?.kind) {
    case undefined:
      return 'Only after its parent, or by hand';
    case 'at':
      return `Once at ${isoTime(rule.at).replace('.000Z', 'Z')}`;
    case 'every':
      return `Every ${periodInWords(rule.everyMs)}`;
    case 'cron':
      return cronInWords(rule.cron, rule.tz) ?? `By the rule "${rule.cron}" ${rule.tz}`;
  }
}

function periodInWords(ms: number): string {
  if (ms % 3_600_000 === 0) return counted(ms / 3_600_000, 'hour');
  if (ms % 60_000 === 0) return counted(ms / 60_000, 'minute');
  if (ms === 1_000) return 'second';
  return ms % 1_000 === 0 ? `${ms / 1_000} s` : `${ms} ms`;
}

function counted(count: number, unit: string): string {
  return count === 1 ? unit : `${count} ${unit}s`;
}

function cronInWords(cron: string, tz: string): string | null {
  const read = readCron(cron);
  if (!read.ok) return null;
  const days = daysInWords(read.rule);
  if (days === null) return null;
  const steady = days === EVERY_DAY ? steadyPeriod(read.rule, tz) : null;
  if (steady !== null) return steady;
  const times = namedTimes(read.rule);
  if (times !== null) return `${days} at ${times} ${tz}`;
  const window = repeatedTimes(read.rule);
  return window === null ? null : `${days}, ${window} ${tz}`;
}

/** The same distance between all ticks of all days, also when the clocks change. */
function steadyPeriod({ second, minute, hour }: CronRule, tz: string): string | null {
  if (hour.values.length !== 24) return null;
  const periodMs = repeatMs(second, minute);
  if (periodMs === null || clockShift(tz) % periodMs !== 0) return null;
  const [only] = minute.values;
  const inHour = periodMs === 3_600_000 && only !== 0 ? ` at minute ${only} ${tz}` : '';
  return `Every ${periodInWords(periodMs)}${inHour}`;
}

function repeatMs(second: CronField, minute: CronField): number | null {
  if (second.values.length > 1) return minute.values.length === 60 ? stepOf(second, 1_000) : null;
  return minute.values.length === 1 ? 3_600_000 : stepOf(minute, 60_000);
}

/** Steps that start with each minute or hour anew, and fill it evenly. */
function stepOf({ values }: CronField, unitMs: number): number | null {
  const step = 60 / values.length;
  return values.every((value, index) => value === index * step) ? step * unitMs : null;
}

/** How far the zone's clock moves in summer. The year is one like any other. */
function clockShift(tz: string): number {
  return Math.abs(offsetAt(tz, Date.UTC(2026, 0, 15)) - offsetAt(tz, Date.UTC(2026, 6, 15)));
}

function namedTimes({ second, minute, hour }: CronRule): string | null {
  if (second.values.length !== 1 || minute.values.length * hour.values.length > LISTED_TIMES) return null;
  const [at = 0] = second.values;
  const seconds = at === 0 ? '' : `:${twoDigits(at)}`;
  return joined(hour.values.flatMap((h) => minute.values.map((m) => clock(h, m) + seconds)));
}

/** "every 10 minutes from 09:00 to 17:50", "every 2 hours from 00:30 to 22:30". */
function repeatedTimes({ second, minute, hour }: CronRule): string | null {
  const first = hour.values[0] ?? 0;
  const last = hour.values.at(-1) ?? 0;
  const step = (last - first) / (hour.values.length - 1 || 1);
  if (second.text !== '0' || !hour.values.every((value, index) => value === first + index * step))
    return null;
  const [only = 0] = minute.values;
  if (minute.values.length === 1)
    return `every ${counted(step, 'hour')} from ${clock(first, only)} to ${clock(last, only)}`;
  const stepMs = step <= 1 ? stepOf(minute, 60_000) : null;
  if (stepMs === null) return null;
  return `every ${periodInWords(stepMs)} from ${clock(first, 0)} to ${clock(last, minute.values.at(-1) ?? 0)}`;
}

function clock(hour: number, minute: number): string {
  return `${twoDigits(hour)}:${twoDigits(minute)}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
