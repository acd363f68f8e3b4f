/** Times at the edge: ISO 8601 outside, epoch milliseconds inside. */

import { SpineError } from '../domain/error.ts';

const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/** A power of two. */
const REMEMBERED = 64;
const MS_TEXTS = Array.from({ length: 1000 }, (_, ms) => `${String(ms).padStart(3, '0')}Z`);
const knownMs = new Float64Array(REMEMBERED).fill(Number.NaN);
const knownTexts = Array.from(knownMs, () => '');
const knownS = new Float64Array(REMEMBERED).fill(Number.NaN);
const knownStarts = Array.from(knownS, () => '');

/** Remembers some times as text: what was decided together shows the same few again and again. */
export function iso(ms: number): string {
  const place = ms & (REMEMBERED - 1);
  if (knownMs[place] !== ms) {
    const second = Math.floor(ms / 1000);
    knownTexts[place] = startOf(second) + MS_TEXTS[ms - second * 1000];
    knownMs[place] = ms;
  }
  return knownTexts[place] ?? '';
}

/** Remembers some seconds too: other times that are shown together lie within few of them. */
function startOf(second: number): string {
  const place = second & (REMEMBERED - 1);
  if (knownS[place] !== second) {
    knownStarts[place] = new Date(second * 1000).toISOString().slice(0, -'000Z'.length);
    knownS[place] = second;
  }
  return knownStarts[place] ?? '';
}

/** Reads what the `Time` schema let through: epoch milliseconds, or an ISO time that names its zone. */
export function timeOf(value: string | number, field: string): number {
  const ms = typeof value === 'number' ? value : ISO.test(value) ? Date.parse(value) : Number.NaN;
  if (ms >= 0 && ms <= LAST_MS) return ms;
  throw new SpineError(
    'bad_request',
    { field },
    { message: `${field} must be an ISO 8601 time with its zone, or epoch milliseconds.` },
  );
}

/** Facts and details carry their times as numbers, under names that end in At or Until. */
export function withIsoTimes(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(facts)) {
    shown[name] = typeof value === 'number' && /(At|Until)$/.test(name) ? iso(value) : value;
  }
  return shown;
}
