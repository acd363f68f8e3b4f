import { EVIL_JSON } from '../fuzz/values.ts';
import type { Random } from '../random.ts';

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly description?: string;
}

/** What makes a generated value meet something that is there. */
export interface Surroundings {
  readonly random: Random;
  readonly schemas: Readonly<Record<string, Schema>>;
  /** Values for fields of these names. */
  readonly known: Readonly<Record<string, readonly unknown[]>>;
}

/** Fields that only take what is known: longer waits would make this slow and show nothing. */
const ONLY_KNOWN: ReadonlySet<string> = new Set(['waitMs']);

const WORDS = [
  'left-claw',
  'any',
  'right-claw',
  'a',
  'review',
  'x:1@b.c',
  'Ärger',
  'Ž'.repeat(100),
  '1',
  '0',
];
const TIMES = [
  '2026-01-01T00:00:00Z',
  '2090-01-01T00:00:00+02:00',
  '1970-01-01T00:00:00.000Z',
  4_000_000_000_000,
  0,
];
const ANYTHING: readonly unknown[] = [
  null,
  true,
  0,
  1.5,
  '',
  'text',
  [],
  {},
  { a: [1, { b: null }] },
  ['x', 2],
];
/** Without the huge and the deep, which the fuzz of hostile bytes sends. */
const EVIL: readonly unknown[] = EVIL_JSON.filter((json) => json.length < 10_000).flatMap(parsed);

/** A value as the schema allows it. What the schema cannot say may still be refused. */
export function valid(schema: Schema, name: string, around: Surroundings): unknown {
  const { random, schemas, known } = around;
  if (schema.$ref !== undefined)
    return valid(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, name, around);
  const mine = known[name] ?? [];
  if (mine.length > 0 && (ONLY_KNOWN.has(name) || random.chance(0.8))) return random.pick(mine);
  if (schema.enum !== undefined) return random.pick(schema.enum);
  if (schema.anyOf !== undefined) return valid(random.pick(schema.anyOf), name, around);
  if (schema.description?.includes('ISO 8601') === true) return random.pick(TIMES);
  const type = typeof schema.type === 'object' ? random.pick(schema.type) : schema.type;
  if (type === 'string') return validText(schema, random);
  if (type === 'integer' || type === 'number') return validNumber(schema, random);
  if (type === 'boolean') return random.chance(0.5);
  if (type === 'null') return null;
  if (type === 'array') return validList(schema, name, around);
  return type === 'object' ? validObject(schema, around) : random.pick(ANYTHING);
}

function validText({ pattern, minLength = 0, maxLength = 1_000 }: Schema, random: Random): string {
  const allowed = new RegExp(pattern ?? '', 'u');
  const longest = 'x'.repeat(Math.min(maxLength, 30_000));
  const fitting = [...WORDS, longest].filter(
    (word) => word.length >= minLength && word.length <= maxLength && allowed.test(word),
  );
  return fitting.length === 0 ? 'job.created' : random.pick(fitting);
}

function validNumber({ minimum = -1_000, maximum = 1_000 }: Schema, random: Random): number {
  const near = minimum + random.int(Math.min(100, maximum - minimum + 1));
  return random.pick([minimum, maximum, near, near]);
}

function validList(
  { items = {}, minItems = 0, maxItems = 4 }: Schema,
  name: string,
  around: Surroundings,
): unknown[] {
  const length = minItems + around.random.int(Math.min(4, maxItems - minItems + 1));
  return Array.from({ length }, () => valid(items, name, around));
}

function validObject({ properties = {}, required = [] }: Schema, around: Surroundings): unknown {
  const share = around.random.pick([0, 0.1, 0.3, 0.7]);
  // Some that a schema does not require are asked for by their route.
  const likely = (name: string): number => (name in around.known ? Math.max(share, 0.5) : share);
  const fields = Object.entries(properties).filter(
    ([name]) => required.includes(name) || around.random.chance(likely(name)),
  );
  return Object.fromEntries(fields.map(([name, schema]) => [name, valid(schema, name, around)]));
}

/** The value with one thing in it exchanged, left out or added. */
export function mutated(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || random.chance(0.15)) return random.pick(EVIL);
  if (Array.isArray(value)) {
    if (value.length === 0 || random.chance(0.3)) return [...(value as unknown[]), random.pick(EVIL)];
    const at = random.int(value.length);
    return value.map((item: unknown, index) => (index === at ? mutated(item, random) : item));
  }
  const entries = Object.entries(value);
  if (entries.length === 0 || random.chance(0.1)) return { ...value, unheardOf: random.pick(EVIL) };
  const at = random.int(entries.length);
  if (random.chance(0.2)) return Object.fromEntries(entries.toSpliced(at, 1));
  return Object.fromEntries(
    entries.map(([key, item], index) => [key, index === at ? mutated(item, random) : item]),
  );
}

function parsed(json: string): unknown[] {
  try {
    return [JSON.parse(json)];
  } catch {
    return [];
  }
}
