/**
 * Reads a cron expression. Croner knows what it means; but it also takes what nobody means (`5*` as 5, `janfeb` as
 * December, `15L` as two days), and counts days and months from 0 when it refuses one. So each field is looked at here
 * first, and a refusal says which one is wrong.
 */

import { Cron, CronPattern } from 'croner';

export interface CronField {
  readonly text: string;
  /** What it allows, ascending; empty when it needs a calendar to say (L, W, #). Sundays are 0. */
  readonly values: readonly number[];
}

export interface CronRule {
  readonly second: CronField;
  readonly minute: CronField;
  readonly hour: CronField;
  readonly dayOfMonth: CronField;
  readonly month: CronField;
  readonly dayOfWeek: CronField;
  /** Finds its days. Told to think in UTC, so that it walks the calendar and leaves the zone to us. */
  readonly days: Cron;
}

export type CronRead =
  | { readonly ok: true; readonly rule: CronRule }
  | { readonly ok: false; readonly problem: string };

interface Kind {
  readonly label: string;
  readonly min: number;
  readonly max: number;
  /** Items that only a calendar can answer. */
  readonly special?: RegExp;
}

/** In the order in which they are written. */
const KINDS: readonly Kind[] = [
  { label: 'second', min: 0, max: 59 },
  { label: 'minute', min: 0, max: 59 },
  { label: 'hour', min: 0, max: 23 },
  { label: 'day of the month', min: 1, max: 31, special: /^(?:LW?|\d+W)$/i },
  { label: 'month', min: 1, max: 12 },
  { label: 'day of the week', min: 0, max: 7, special: /^(?:\d|[a-z]{3})(?:#[1-5L]|L)$/i },
];
/** A star, a value or a range, perhaps in steps; a value may have a name. */
const ITEM = /^(?:\*|(?:\d+|[a-z]{3})(?:-(?:\d+|[a-z]{3}))?)(?:\/\d+)?$/i;

/** Rules remembered; a server has far fewer in use. */
const KEPT = 1_000;
const memory = new Map<string, CronRead>();

export function readCron(cron: string): CronRead {
  const known = memory.get(cron);
  if (known !== undefined) return known;
  const read = readAnew(cron);
  if (memory.size >= KEPT) memory.clear();
  if (read.ok) memory.set(cron, read);
  return read;
}

function readAnew(cron: string): CronRead {
  const pattern = patternOf(cron);
  const texts = (pattern instanceof Error ? cron : pattern.pattern).replaceAll('?', '*').match(/\S+/g) ?? [];
  if (texts.length !== 5 && texts.length !== 6)
    return bad(
      `it has ${texts.length} ${texts.length === 1 ? 'field' : 'fields'}; write 5 such as "0 2 * * *" (minute hour day month weekday), 6 with seconds first, or a name such as @daily`,
    );
  if (texts.length === 5) texts.unshift('0');
  for (const [index, kind] of KINDS.entries()) {
    const problem = fieldProblem(kind, texts[index] ?? '');
    if (problem !== null) return bad(`the ${kind.label} "${texts[index]}" ${problem}`);
  }
  if (pattern instanceof Error)
    return bad(pattern.message.replace(/^CronPattern: (?:Syntax error, )?|\.$/g, ''));
  return { ok: true, rule: ruleOf(pattern, texts) };
}

/** With a name such as @daily replaced by what it stands for. */
function patternOf(cron: string): CronPattern | Error {
  try {
    return new CronPattern(cron, undefined, { mode: '5-or-6-parts' });
  } catch (error) {
    return error as Error;
  }
}

function fieldProblem({ special, min, max }: Kind, text: string): string | null {
  if (!itemsOf(text).every((item) => ITEM.test(item) || special?.test(item))) return 'is not understood';
  // Neither a step nor the count of a weekday.
  const values = text.match(/(?<![/#\d])\d+/g)?.map(Number) ?? [];
  return values.every((value) => value >= min && value <= max) ? null : `is not within ${min} to ${max}`;
}

/** A plus before the weekdays asks for days that fit both, the day of the month and the weekday. */
function itemsOf(text: string): string[] {
  return text.replace(/^\+/, '').split(',');
}

function ruleOf(pattern: CronPattern, texts: readonly string[]): CronRule {
  const field = (index: number, allowed: readonly number[]): CronField => {
    const { min = 0, special } = KINDS[index] ?? {};
    const text = texts[index] ?? '';
    const needsCalendar = text.startsWith('+') || itemsOf(text).some((item) => special?.test(item));
    return { text, values: needsCalendar ? [] : allowed.flatMap((on, at) => (on === 0 ? [] : [at + min])) };
  };
  return {
    second: field(0, pattern.second),
    minute: field(1, pattern.minute),
    hour: field(2, pattern.hour),
    dayOfMonth: field(3, pattern.day),
    month: field(4, pattern.month),
    dayOfWeek: field(5, pattern.dayOfWeek),
    days: new Cron(`0 0 0 ${texts.slice(3).join(' ')}`, { utcOffset: 0, mode: '6-part' }),
  };
}

function bad(problem: string): CronRead {
  return { ok: false, problem };
}
