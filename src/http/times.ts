/** Times at the edge: ISO 8601 outside, epoch milliseconds inside. */

import { durationMs } from '../domain/duration.ts';
import { SpineError } from '../domain/error.ts';
import { isTimeFact } from '../domain/iso-time.ts';
import { iso } from './iso.ts';

const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

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

/** Reads what the `Duration` schema let through. */
export function durationOf(text: string, field: string, mostMs: number): number {
  const ms = durationMs(text);
  if (ms !== null && ms <= mostMs) return ms;
  const message = `${field} must be a duration like 30s, at most ${mostMs / 1_000}s.`;
  throw new SpineError('bad_request', { field }, { message });
}

export function withIsoTimes(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(facts)) {
    shown[name] = isTimeFact(name, value) ? iso(value) : value;
  }
  return shown;
}
