/** The keywords of JSON Schema, drafts 7 and 2020-12: each turns its operand into a check. */

import { isJsonObject } from '../json-object.ts';
import { ARRAY_KEYWORDS } from './arrays.ts';
import { type Check, likeness, problem } from './check.ts';
import type { Compiler, Fields } from './compile.ts';
import { OBJECT_KEYWORDS } from './objects.ts';
import { SCALAR_KEYWORDS } from './scalars.ts';

/** Where a keyword stands, and what stands beside it. */
export interface Place {
  readonly at: string;
  readonly schema: Fields;
  readonly compiler: Compiler;
}

/** No check when the keyword only serves another one. */
export type Keyword = (operand: unknown, place: Place) => Check | null;

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === 'string',
  array: Array.isArray,
  object: isJsonObject,
};

const ANY_VALUE: Readonly<Record<string, Keyword>> = {
  type: (operand, { at, schema, compiler }) => {
    const stated: readonly unknown[] = Array.isArray(operand) ? operand : [operand];
    const known = stated.every((name) => typeof name === 'string' && Object.hasOwn(TYPES, name));
    if (stated.length === 0 || !known)
      return compiler.refuse(at, `must be one or more of ${Object.keys(TYPES).join(', ')}`);
    const names = stated as readonly string[];
    const allowed = [...new Set(schema['nullable'] === true ? [...names, 'null'] : names)];
    const tests = allowed.map((name) => TYPES[name]);
    return (value) =>
      tests.some((test) => test?.(value)) ? null : problem(`must be ${allowed.join(' or ')}`);
  },
  enum: (operand, { at, compiler }) => {
    if (!Array.isArray(operand) || operand.length === 0)
      return compiler.refuse(at, 'must be a list of values, not empty');
    const values = new Set(operand.map((value) => likeness(value, compiler.meter)));
    return (value, meter) =>
      values.has(likeness(value, meter)) ? null : problem('must be one of the allowed values');
  },
  const: (operand, { compiler }) => {
    const stated = likeness(operand, compiler.meter);
    return (value, meter) => (likeness(value, meter) === stated ? null : problem('must be the stated value'));
  },
};

const COMBINING: Readonly<Record<string, Keyword>> = {
  $ref: (operand, { at, compiler }) => compiler.referred(operand, at),
  allOf: (operand, { at, compiler }) => {
    const checks = compiler.list(operand, at, (schema, place) => compiler.alongside(schema, place));
    return (value, meter) => {
      for (const check of checks) {
        const found = check(value, meter);
        if (found !== null) return found;
      }
      return null;
    };
  },
  anyOf: (operand, { at, compiler }) => {
    const checks = compiler.list(operand, at, (schema, place) => compiler.alongside(schema, place));
    return (value, meter) =>
      checks.some((check) => check(value, meter) === null) ? null : problem('must match a schema in anyOf');
  },
  oneOf: (operand, { at, compiler }) => {
    const checks = compiler.list(operand, at, (schema, place) => compiler.alongside(schema, place));
    return (value, meter) => {
      const fitting = checks.filter((check) => check(value, meter) === null).length;
      return fitting === 1 ? null : problem('must match exactly one schema in oneOf');
    };
  },
  not: (operand, { at, compiler }) => {
    const check = compiler.alongside(operand, at);
    return (value, meter) => (check(value, meter) === null ? problem('must NOT be valid') : null);
  },
  if: (operand, { at, schema, compiler }) => {
    const condition = compiler.alongside(operand, at);
    const branch = (name: 'then' | 'else'): Check =>
      compiler.alongside(schema[name] ?? true, `${at.replace(/if$/, '')}${name}`);
    const [met, unmet] = [branch('then'), branch('else')];
    return (value, meter) => (condition(value, meter) === null ? met : unmet)(value, meter);
  },
  $defs: definitions,
  definitions,
};

/** Nothing to check by themselves, but whatever is wrong in them is to be found when the type is saved. */
function definitions(operand: unknown, { at, compiler }: Place): null {
  compiler.children(operand, at);
  return null;
}

/** Keywords that are none of these say something about the schema, and are not looked at. */
export const KEYWORDS: ReadonlyMap<string, Keyword> = new Map(
  Object.entries({ ...ANY_VALUE, ...SCALAR_KEYWORDS, ...ARRAY_KEYWORDS, ...OBJECT_KEYWORDS, ...COMBINING }),
);

const ELSEWHERE = 'is not supported; refer to a place in this schema with $ref, like "#/$defs/name"';
const UNCHECKED = 'is not supported; say it with the keywords of draft 7';

/** Ignored, these would let through what their author meant to refuse. */
export const UNUSABLE: ReadonlyMap<string, string> = new Map([
  ['$async', 'is not supported: params are checked at once; take it out'],
  ['$id', 'is not supported inside a schema; take it out'],
  ['$anchor', ELSEWHERE],
  ['$dynamicRef', ELSEWHERE],
  ['$dynamicAnchor', ELSEWHERE],
  ['$recursiveRef', ELSEWHERE],
  ['$recursiveAnchor', ELSEWHERE],
  ['$data', 'is not supported; write the value itself'],
  ['discriminator', 'is not supported; use oneOf with const'],
  ['unevaluatedItems', UNCHECKED],
  ['unevaluatedProperties', UNCHECKED],
]);
