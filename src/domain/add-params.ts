/** Params from the words of a command: one word for each property of the type's schema, in its order. */

import type { Misunderstood } from './chat-command.ts';

type Property = Readonly<Record<string, unknown>>;

/**
 * The last property takes all words that are left, where it is a text or a list. What is missing is left out, so that the
 * schema says whether it may be. Null where the type says nothing of its params and there are no words.
 */
export function paramsOfWords(
  paramsSchema: string | null,
  words: readonly string[],
): { readonly params: Readonly<Record<string, unknown>> | null } | Misunderstood {
  const properties = propertiesOf(paramsSchema);
  if (properties.length === 0) return { params: null };
  const params: Record<string, unknown> = {};
  for (const [i, [name, property]] of properties.entries()) {
    const last = i === properties.length - 1;
    const own = last ? words.slice(i) : words.slice(i, i + 1);
    if (own.length === 0) break;
    const kind = kindOf(property);
    if (own.length > 1 && kind !== 'string' && kind !== 'array')
      return { problem: `That is too much: it takes ${properties.map(([each]) => each).join(', ')}.` };
    const value = kind === 'array' ? listOf(property, own) : valueOf(kind, own.join(' '));
    if (value === undefined) return { problem: `${name} is a ${kind}: "${own.join(' ')}" is none.` };
    // A property may have any name, __proto__ too.
    Object.defineProperty(params, name, { value, enumerable: true });
  }
  return { params };
}

function propertiesOf(paramsSchema: string | null): readonly (readonly [string, Property])[] {
  const schema: unknown = paramsSchema === null ? null : JSON.parse(paramsSchema);
  const { properties } = isRecord(schema) ? schema : {};
  if (!isRecord(properties)) return [];
  return Object.entries(properties).map(([name, each]) => [name, isRecord(each) ? each : {}]);
}

/** A schema may allow several kinds: the first that a word can be read as. */
function kindOf({ type }: Property): string {
  const first: unknown = Array.isArray(type) ? type.find((each) => each !== 'null') : type;
  return typeof first === 'string' ? first : 'string';
}

/** Undefined when the word is none of that kind. */
function valueOf(kind: string, word: string): unknown {
  switch (kind) {
    case 'integer':
      return /^-?\d{1,15}$/.test(word) ? Number(word) : undefined;
    case 'number':
      return /^-?\d+(\.\d+)?$/.test(word) ? Number(word) : undefined;
    case 'boolean':
      return BOOLEANS.get(word.toLowerCase());
    case 'object':
      return undefined;
    default:
      return word;
  }
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['on', true],
  ['false', false],
  ['no', false],
  ['off', false],
]);

/** With commas in a word, or as several words. */
function listOf({ items }: Property, words: readonly string[]): unknown {
  const kind = isRecord(items) ? kindOf(items) : 'string';
  const values = words
    .flatMap((word) => word.split(','))
    .filter((word) => word !== '')
    .map((word) => valueOf(kind, word));
  return values.includes(undefined) ? undefined : values;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
