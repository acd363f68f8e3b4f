/** What a schema may ask of numbers and texts. */

import { type Check, type Meter, problem, TEXT_CHARS_PER_STEP } from './check.ts';
import { FORMATS } from './formats.ts';
import type { Keyword, Place } from './keywords.ts';

/** A step of a pattern may take five times as long as one of ours. */
const STEPS_PER_PATTERN_STEP = 4;
const FORMAT_STEPS = 20;

export const SCALAR_KEYWORDS: Readonly<Record<string, Keyword>> = {
  minimum: bound('>=', (value, limit) => value >= limit),
  maximum: bound('<=', (value, limit) => value <= limit),
  exclusiveMinimum: bound('>', (value, limit) => value > limit),
  exclusiveMaximum: bound('<', (value, limit) => value < limit),
  multipleOf: (operand, place) => {
    const factor = numberOf(operand, place);
    if (factor <= 0) return place.compiler.refuse(place.at, 'must be more than 0');
    return (value) =>
      typeof value !== 'number' || Number.isInteger(value / factor)
        ? null
        : problem(`must be multiple of ${factor}`);
  },
  minLength: length('fewer', (chars, limit) => chars >= limit),
  maxLength: length('more', (chars, limit) => chars <= limit),
  pattern: (operand, { at, compiler }) => {
    const pattern = compiler.pattern(operand, at);
    return (value, meter) => {
      if (typeof value !== 'string') return null;
      return matches(pattern, value, meter) ? null : problem(`must match pattern "${String(operand)}"`);
    };
  },
  format: (operand, { at, compiler }) => {
    const test = typeof operand === 'string' ? FORMATS.get(operand) : undefined;
    if (test === undefined) return compiler.refuse(at, `must be one of ${[...FORMATS.keys()].join(', ')}`);
    return (value, meter) => {
      if (typeof value === 'string') meter.spend(FORMAT_STEPS + value.length);
      return test(value) ? null : problem(`must match format "${String(operand)}"`);
    };
  },
};

export function matches(
  pattern: ReturnType<Place['compiler']['pattern']>,
  text: string,
  meter: Meter,
): boolean {
  meter.spend((text.length + 1) * pattern.width * STEPS_PER_PATTERN_STEP);
  return pattern.test(text);
}

/** For keywords that count: how many characters, items or fields. */
export function countOf(operand: unknown, { at, compiler }: Place): number {
  if (typeof operand === 'number' && Number.isInteger(operand) && operand >= 0) return operand;
  return compiler.refuse(at, 'must be a whole number, 0 or more');
}

function numberOf(operand: unknown, { at, compiler }: Place): number {
  return typeof operand === 'number' ? operand : compiler.refuse(at, 'must be a number');
}

function bound(sign: string, fits: (value: number, limit: number) => boolean): Keyword {
  return (operand, place): Check => {
    const limit = numberOf(operand, place);
    return (value) =>
      typeof value !== 'number' || fits(value, limit) ? null : problem(`must be ${sign} ${limit}`);
  };
}

function length(word: 'fewer' | 'more', fits: (chars: number, limit: number) => boolean): Keyword {
  return (operand, place): Check => {
    const limit = countOf(operand, place);
    return (value, meter) => {
      if (typeof value !== 'string' || fits(charsIn(value, limit, meter), limit)) return null;
      return problem(`must NOT have ${word} than ${limit} characters`);
    };
  };
}

/** Characters beyond the first plane take two places. Only where that decides are they counted. */
function charsIn(text: string, limit: number, meter: Meter): number {
  if (text.length < limit) return text.length;
  if (text.length > limit * 2) return limit + 1;
  meter.spend(text.length / TEXT_CHARS_PER_STEP);
  let chars = 0;
  for (let at = 0; at < text.length; at++) {
    const high = text.charCodeAt(at);
    if (high >= 0xd800 && high <= 0xdbff) at++;
    chars++;
  }
  return chars;
}
