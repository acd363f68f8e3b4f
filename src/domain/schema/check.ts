/** Checking a value costs steps, and a check has only so many: nobody can hold up the server by what it sends. */

/** Where a value does not fit, as a JSON pointer, and why. */
export interface Problem {
  readonly at: string;
  readonly why: string;
}

export type Check = (value: unknown, meter: Meter) => Problem | null;

/** The steps of one check were used up, or its schemas refer to each other too deep. */
export class TooCostly extends Error {}

/** 10 to 25 ns each: all of them take at most 40 ms on a machine of today. What costs more is counted as several. */
const STEPS = 1_500_000;
/** Schemas applied within one another; values themselves are nested at most 64 deep. */
export const DEPTH = 500;
const ENTER_STEPS = 3;

export class Meter {
  #left = STEPS;
  #depth = 0;

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooCostly('it takes too long to check');
  }

  enter(): void {
    if (++this.#depth > DEPTH) throw new TooCostly('its schemas refer to each other too deep');
    this.spend(ENTER_STEPS);
  }

  leave(): void {
    this.#depth--;
  }
}

export function problem(why: string): Problem {
  return { at: '', why };
}

/** A problem inside a value, as its owner sees it. */
export function inside(key: string | number, { at, why }: Problem): Problem {
  const step = String(key).slice(0, SHOWN_CHARS).replaceAll('~', '~0').replaceAll('/', '~1');
  return { at: `/${step}${at}`, why };
}

/** What a message quotes of a name. */
export const SHOWN_CHARS = 100;

/** Equal for equal values, whatever the order of their fields: a plain value is its own. */
export function likeness(value: unknown, meter: Meter): unknown {
  meter.spend(LIKENESS_STEPS);
  if (typeof value === 'string') meter.spend(value.length / TEXT_CHARS_PER_STEP);
  // No text that came in as JSON begins with the sign that sets these apart.
  return typeof value === 'object' && value !== null ? `\uffff${printed(value, meter)}` : value;
}

/** JSON with the fields in the order of their names. */
function printed(value: unknown, meter: Meter): string {
  meter.spend(PRINT_STEPS);
  if (typeof value === 'string') meter.spend(value.length / TEXT_CHARS_PER_STEP);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += `${printed(item, meter)},`;
    return `[${text}]`;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const key of keysOf(fields, meter).toSorted())
    text += `${JSON.stringify(key)}:${printed(fields[key], meter)},`;
  return `{${text}}`;
}

/** Looked up in a large set. */
const LIKENESS_STEPS = 6;
const PRINT_STEPS = 12;
/** Text that is only walked through costs little. */
export const TEXT_CHARS_PER_STEP = 8;

export function keysOf(fields: Readonly<Record<string, unknown>>, meter: Meter): string[] {
  const keys = Object.keys(fields);
  meter.spend(KEYS_STEPS + keys.length * KEY_STEPS);
  return keys;
}

const KEYS_STEPS = 10;
/** Listing, comparing and looking up one name. */
const KEY_STEPS = 12;
