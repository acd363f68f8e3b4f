/** What a schema may ask of objects. */

import { isJsonObject } from '../json-object.ts';
import { type Check, type Meter, inside, keysOf, type Problem, problem, SHOWN_CHARS } from './check.ts';
import type { Fields } from './compile.ts';
import type { Keyword, Place } from './keywords.ts';
import { countOf, matches } from './scalars.ts';

export const OBJECT_KEYWORDS: Readonly<Record<string, Keyword>> = {
  required: (operand, place) => owner(needed(namesOf(operand, place))),
  minProperties: (operand, place) => {
    const limit = countOf(operand, place);
    return owner((fields, meter) =>
      keysOf(fields, meter).length >= limit ? null : problem(`must NOT have fewer than ${limit} properties`),
    );
  },
  maxProperties: (operand, place) => {
    const limit = countOf(operand, place);
    return owner((fields, meter) =>
      keysOf(fields, meter).length <= limit ? null : problem(`must NOT have more than ${limit} properties`),
    );
  },
  properties: (operand, { at, compiler }) => {
    const checks = compiler.children(operand, at);
    return owner((fields, meter) => {
      meter.spend(checks.size);
      for (const [key, check] of checks) {
        const found = Object.hasOwn(fields, key) ? check(fields[key], meter) : null;
        if (found !== null) return inside(key, found);
      }
      return null;
    });
  },
  patternProperties: (operand, { at, compiler }) => {
    const checks = [...compiler.children(operand, at)];
    const rules = checks.map(([pattern, check]) => ({ pattern: compiler.pattern(pattern, at), check }));
    return owner((fields, meter) => {
      for (const key of keysOf(fields, meter)) {
        for (const { pattern, check } of rules) {
          const found = matches(pattern, key, meter) ? check(fields[key], meter) : null;
          if (found !== null) return inside(key, found);
        }
      }
      return null;
    });
  },
  additionalProperties: (operand, { at, schema, compiler }) => {
    const check = compiler.child(operand, at);
    const named = new Set(isJsonObject(schema['properties']) ? Object.keys(schema['properties']) : []);
    const patterns = isJsonObject(schema['patternProperties'])
      ? Object.keys(schema['patternProperties'])
      : [];
    const matched = patterns.map((pattern) => compiler.pattern(pattern, at));
    return owner((fields, meter) => {
      for (const key of keysOf(fields, meter)) {
        if (named.has(key) || matched.some((pattern) => matches(pattern, key, meter))) continue;
        if (operand === false)
          return problem(`must NOT have additional property '${key.slice(0, SHOWN_CHARS)}'`);
        const found = check(fields[key], meter);
        if (found !== null) return inside(key, found);
      }
      return null;
    });
  },
  propertyNames: (operand, { at, compiler }) => {
    const check = compiler.child(operand, at);
    return owner((fields, meter) => {
      for (const key of keysOf(fields, meter)) {
        const found = check(key, meter);
        if (found !== null)
          return problem(`has a property name '${key.slice(0, SHOWN_CHARS)}' that ${found.why}`);
      }
      return null;
    });
  },
  dependentRequired: (operand, place) => dependent(operand, place, (names) => needed(namesOf(names, place))),
  dependentSchemas: (operand, place) =>
    dependent(operand, place, (schema) => place.compiler.alongside(schema, place.at)),
  dependencies: (operand, place) =>
    dependent(operand, place, (rule) =>
      Array.isArray(rule) ? needed(namesOf(rule, place)) : place.compiler.alongside(rule, place.at),
    ),
};

type FieldsCheck = (fields: Fields, meter: Meter) => Problem | null;

function owner(check: FieldsCheck): Check {
  return (value, meter) => (isJsonObject(value) ? check(value, meter) : null);
}

function namesOf(operand: unknown, { at, compiler }: Place): readonly string[] {
  if (Array.isArray(operand) && operand.every((name) => typeof name === 'string')) return operand;
  return compiler.refuse(at, 'must be a list of names');
}

function needed(names: readonly string[]): FieldsCheck {
  return (fields, meter) => {
    meter.spend(names.length);
    const missing = names.find((name) => !Object.hasOwn(fields, name));
    return missing === undefined
      ? null
      : problem(`must have required property '${missing.slice(0, SHOWN_CHARS)}'`);
  };
}

/** Rules that hold when a field is there. */
function dependent(operand: unknown, place: Place, ruleOf: (rule: unknown) => FieldsCheck): Check {
  if (!isJsonObject(operand)) return place.compiler.refuse(place.at, 'must be an object');
  const rules = Object.entries(operand).map(([key, rule]) => ({ key, check: ruleOf(rule) }));
  return owner((fields, meter) => {
    meter.spend(rules.length);
    for (const { key, check } of rules) {
      const found = Object.hasOwn(fields, key) ? check(fields, meter) : null;
      if (found !== null) return found;
    }
    return null;
  });
}
