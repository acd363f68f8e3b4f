/** Reads a cron expression field by field, strictly, so that a refusal can say which part is wrong. */

export interface CronFields {
  readonly second: CronField;
  readonly minute: CronField;
  readonly hour: CronField;
  readonly dayOfMonth: CronField;
  readonly month: CronField;
  readonly dayOfWeek: CronField;
}

export interface CronField {
  readonly text: string;
  /** What it allows, ascending; empty when it needs a calendar to say (L, W, #). Sundays are 0. */
  readonly values: readonly number[];
}

export type CronRead =
  | { readonly ok: true; readonly fields: CronFields }
  | { readonly ok: false; readonly problem: string };

interface Kind {
  readonly name: keyof CronFields;
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
  /** Items that only a calendar can answer. */
  readonly special?: RegExp;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const KINDS: readonly Kind[] = [
  { name: 'second', label: 'second', min: 0, max: 59 },
  { name: 'minute', label: 'minute', min: 0, max: 59 },
  { name: 'hour', label: 'hour', min: 0, max: 23 },
  {
    name: 'dayOfMonth',
    label: 'day of the month',
    min: 1,
    max: 31,
    special: /^(?:L|LW|(?:[1-9]|[12]\d|3[01])W)$/i,
  },
  { name: 'month', label: 'month', min: 1, max: 12, names: MONTHS },
  {
    name: 'dayOfWeek',
    label: 'day of the week',
    min: 0,
    max: 7,
    names: DAYS,
    special: /^(?:[0-7]|sun|mon|tue|wed|thu|fri|sat)(?:#[1-5L]|L)$/i,
  },
];

const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

export function readCron(cron: string): CronRead {
  const trimmed = cron.trim();
  if (trimmed === '') return bad('it is empty; write five fields such as "0 2 * * *"');
  const plain = trimmed.startsWith('@') ? NICKNAMES[trimmed.toLowerCase()] : trimmed;
  if (plain === undefined) return bad(`${trimmed} is not one of ${Object.keys(NICKNAMES).join(', ')}`);
  const texts = plain.split(/\s+/);
  if (texts.length !== 5 && texts.length !== 6)
    return bad(
      `it has ${texts.length} ${texts.length === 1 ? 'field' : 'fields'}; write 5 (minute hour day month weekday), or 6 with seconds first`,
    );
  if (texts.length === 5) texts.unshift('0');
  return readFields(texts);
}

function readFields(texts: readonly string[]): CronRead {
  const fields: Partial<Record<keyof CronFields, CronField>> = {};
  for (const [index, kind] of KINDS.entries()) {
    const text = texts[index] ?? '';
    const read = readField(kind, text.replaceAll('?', '*'));
    if (typeof read === 'string') return bad(`the ${kind.label} "${text}" ${read}`);
    fields[kind.name] = read;
  }
  // Every kind was read above.
  return { ok: true, fields: fields as CronFields };
}

function readField(kind: Kind, text: string): CronField | string {
  // A plus before the weekdays asks for days that fit both, the day of the month and the weekday.
  const items = (kind.name === 'dayOfWeek' ? text.replace(/^\+/, '') : text).split(',');
  const values = new Set<number>();
  let special = text.startsWith('+');
  for (const item of items) {
    if (kind.special?.test(item)) {
      // LW stands alone; in a list it would quietly lose its W.
      if (item.toUpperCase() === 'LW' && items.length > 1) return 'may not mix LW with other days';
      special = true;
      continue;
    }
    const read = readItem(kind, item);
    if (typeof read === 'string') return read;
    for (const value of read) values.add(kind.name === 'dayOfWeek' ? value % 7 : value);
  }
  return { text, values: special ? [] : [...values].toSorted((a, b) => a - b) };
}

const ITEM = /^(?:(\*)|([a-z0-9]+)(?:-([a-z0-9]+))?)(?:\/(\d{1,2}))?$/i;

function readItem(kind: Kind, item: string): readonly number[] | string {
  const [, star, first, last, stepText] = ITEM.exec(item) ?? [];
  if (star === undefined && first === undefined) return 'is not understood';
  const from = star === undefined ? valueOf(kind, first ?? '') : kind.min;
  // A week has seven days, whether Sunday is called 0 or 7.
  const whole = kind.name === 'dayOfWeek' ? 6 : kind.max;
  const to = star === undefined ? valueOf(kind, last ?? first ?? '', last !== undefined) : whole;
  if (from === null || to === null) return `is not within ${kind.min} to ${kind.max}`;
  if (from > to) return 'runs backwards; write two ranges with a comma between them';
  if (stepText === undefined) return range(from, to, 1);
  if (star === undefined && last === undefined)
    return `is not understood; write ${first}-${kind.max}/${stepText}`;
  const step = Number(stepText);
  if (step < 1 || step > whole - kind.min + 1)
    return `has a step that is not within 1 to ${whole - kind.min + 1}`;
  return range(from, to, step);
}

function valueOf(kind: Kind, text: string, closesRange = false): number | null {
  const named = kind.names?.indexOf(text.toLowerCase()) ?? -1;
  // fri-sun ends with the Sunday after Friday.
  if (named === 0 && kind.name === 'dayOfWeek' && closesRange) return 7;
  if (named >= 0) return named + kind.min;
  if (!/^\d{1,2}$/.test(text)) return null;
  const value = Number(text);
  return value >= kind.min && value <= kind.max ? value : null;
}

function range(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
}

function bad(problem: string): CronRead {
  return { ok: false, problem };
}
