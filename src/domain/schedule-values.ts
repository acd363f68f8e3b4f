/** Reads one value of a schedule by the rule of its field. */

import { LIMITS } from './limits.ts';
import type { FieldRule } from './schedule-fields.ts';
import { endOfGap, instantsAt } from './time-zone.ts';

export type ReadValue =
  | { readonly ok: true; readonly value: unknown }
  /** Follows the field's name: "max_retries must be …". */
  | { readonly ok: false; readonly must: string };

export function readValue(rule: FieldRule, value: unknown, tz: string): ReadValue {
  switch (rule.type) {
    case 'text':
      return readText(rule, value);
    case 'integer':
      return readInteger(value, rule.min, rule.max, 'a whole number');
    case 'boolean':
      if (value === true || value === 1) return fine(true);
      return value === false || value === 0 ? fine(false) : must('be true or false');
    case 'choice':
      return rule.values.some((word) => word === value)
        ? fine(value)
        : must(`be one of ${rule.values.join(', ')}`);
    case 'time':
      return readTime(value, tz);
    case 'duration':
      return readInteger(durationMs(value), rule.min, rule.max, 'milliseconds or text such as "15m",');
    case 'json':
      return readJson(value, rule.maxChars);
    case 'names':
      return readNames(value, rule.max);
  }
}

function readText(rule: FieldRule & { type: 'text' }, value: unknown): ReadValue {
  if (typeof value !== 'string') return must('be text');
  if (value.length > rule.maxChars) return must(`have at most ${rule.maxChars} characters`);
  if (!value.isWellFormed()) return must('be valid Unicode, without half characters');
  // Lines and tabs belong to a message; a control character never does.
  const shown = rule.lines ? value.replace(/[\n\r\t]/g, ' ') : value;
  if (/\p{Cc}/u.test(shown)) return must('have no control characters');
  return rule.shape?.pattern.test(value) === false ? must(`be made of ${rule.shape.words}`) : fine(value);
}

function readInteger(value: unknown, min: number, max: number, what: string): ReadValue {
  const fits = typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max;
  // Minus zero would not survive the database.
  return fits ? fine(value + 0) : must(`be ${what} from ${min} to ${max}`);
}

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** 90000, "90s", "1h30m". */
function durationMs(value: unknown): unknown {
  if (typeof value !== 'string' || !/^(?:\d{1,9}(?:ms|[smhdw]))+$/.test(value)) return value;
  const parts = value.matchAll(/(\d+)(ms|[smhdw])/g);
  return [...parts].reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS_MS[unit] ?? 0), 0);
}

const ISO = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?$/i;

function readTime(value: unknown, tz: string): ReadValue {
  const instant = typeof value === 'string' ? parseTime(value, tz) : value;
  if (typeof instant === 'number' && Number.isSafeInteger(instant) && isIsoTime(instant))
    return fine(instant);
  return must('be an ISO 8601 time such as 2026-11-16T09:00:00Z, or epoch milliseconds');
}

/** Never by the server's own zone: a time without an offset is one of the schedule's. */
function parseTime(value: string, tz: string): number | null {
  const [, date, time, offset] = ISO.exec(value) ?? [];
  if (date === undefined || Number.isNaN(Date.parse(`${date}T${time}Z`))) return null;
  // 30 February is a date to the parser, and another one.
  if (new Date(`${date}T00:00Z`).toISOString().slice(0, 10) !== date) return null;
  if (offset !== undefined) return Date.parse(`${date}T${time}${offset.toUpperCase()}`);
  const wall = Date.parse(`${date}T${time}Z`);
  return instantsAt(tz, wall)[0] ?? endOfGap(tz, wall);
}

/** Within the years that ISO 8601 writes with four digits. */
function isIsoTime(instant: number): boolean {
  return instant >= 0 && instant < 253_402_300_800_000;
}

function readJson(value: unknown, maxChars: number): ReadValue {
  if (depthOf(value, LIMITS.jsonDepth) > LIMITS.jsonDepth)
    return must(`be nested at most ${LIMITS.jsonDepth} levels deep`);
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) return must('be JSON');
  return json.length > maxChars ? must(`have at most ${maxChars} characters as JSON`) : fine(value);
}

function readNames(value: unknown, max: number): ReadValue {
  const isName = (each: unknown): boolean =>
    typeof each === 'string' &&
    each.length > 0 &&
    each.length <= LIMITS.nameChars &&
    each.isWellFormed() &&
    !/\p{Cc}/u.test(each);
  return Array.isArray(value) && value.length <= max && value.every(isName)
    ? fine(value)
    : must(`be a list of at most ${max} texts of 1 to ${LIMITS.nameChars} characters`);
}

/** Looks no deeper than it must. */
function depthOf(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (limit < 0) return 1;
  return (
    1 +
    Object.values(value).reduce<number>((deepest, inner) => Math.max(deepest, depthOf(inner, limit - 1)), 0)
  );
}

function fine(value: unknown): ReadValue {
  return { ok: true, value };
}

function must(words: string): ReadValue {
  return { ok: false, must: words };
}
