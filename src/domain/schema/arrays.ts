/** What a schema may ask of lists. */

import { type Check, likeness, inside, type Problem, problem } from './check.ts';
import type { Keyword, Place } from './keywords.ts';
import { countOf } from './scalars.ts';

export const ARRAY_KEYWORDS: Readonly<Record<string, Keyword>> = {
  minItems: (operand, place) => {
    const limit = countOf(operand, place);
    return list((items) =>
      items.length >= limit ? null : problem(`must NOT have fewer than ${limit} items`),
    );
  },
  maxItems: (operand, place) => {
    const limit = countOf(operand, place);
    return list((items) =>
      items.length <= limit ? null : problem(`must NOT have more than ${limit} items`),
    );
  },
  uniqueItems: (operand, { at, compiler }) => {
    if (typeof operand !== 'boolean') return compiler.refuse(at, 'must be true or false');
    if (!operand) return null;
    return list((items, meter) => {
      const seen = new Set<unknown>();
      for (const [i, item] of items.entries()) {
        if (seen.size === seen.add(likeness(item, meter)).size)
          return problem(`must NOT have duplicate items (item ${i} was there before)`);
      }
      return null;
    });
  },
  prefixItems: (operand, place) => leading(operand, place),
  items: (operand, place) => {
    if (Array.isArray(operand)) return leading(operand, place);
    return following(place.compiler.child(operand, place.at), lengthOf(place.schema['prefixItems']));
  },
  additionalItems: (operand, { at, schema, compiler }) => {
    // Beside one schema for all items, none is additional.
    if (!Array.isArray(schema['items'])) return null;
    return following(compiler.child(operand, at), lengthOf(schema['items']));
  },
  contains: (operand, place) => {
    const { at, schema, compiler } = place;
    const check = compiler.child(operand, at);
    const least = schema['minContains'] === undefined ? 1 : countOf(schema['minContains'], place);
    const most = schema['maxContains'] === undefined ? Infinity : countOf(schema['maxContains'], place);
    return list((items, meter) => {
      const count = items.filter((item) => check(item, meter) === null).length;
      return count >= least && count <= most ? null : problem('must contain the right number of valid items');
    });
  },
};

function list(check: (items: readonly unknown[], meter: Parameters<Check>[1]) => Problem | null): Check {
  return (value, meter) => (Array.isArray(value) ? check(value, meter) : null);
}

function leading(operand: unknown, { at, compiler }: Place): Check {
  const checks = compiler.list(operand, at, (schema, place) => compiler.child(schema, place));
  return list((items, meter) => {
    for (const [i, check] of checks.slice(0, items.length).entries()) {
      const found = check(items[i], meter);
      if (found !== null) return inside(i, found);
    }
    return null;
  });
}

function following(check: Check, from: number): Check {
  return list((items, meter) => {
    for (let i = from; i < items.length; i++) {
      const found = check(items[i], meter);
      if (found !== null) return inside(i, found);
    }
    return null;
  });
}

function lengthOf(schemas: unknown): number {
  return Array.isArray(schemas) ? schemas.length : 0;
}
