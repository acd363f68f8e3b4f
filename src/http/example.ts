/** Examples, made from the schemas, so that none of them can be out of date. */

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly minimum?: number;
  readonly format?: string;
}

/** What fields with a shape of their own, or with a meaning that a reader should see, are shown with. */
const VALUES: Readonly<Record<string, unknown>> = {
  after: '3f2b',
  alias: 'ops',
  body: 'The build is green.',
  capacity: 2,
  channel: 'telegram',
  events: ['failed'],
  id: '01980000-0000-7000-8000-000000000001',
  instance: 'host-1',
  jobId: '01980000-0000-7000-8000-000000000001',
  label: 'Report',
  name: 'report',
  email: 'ann@example.com',
  password: 'correct horse battery staple',
  prompt: 'Tidy up',
  question: 'Publish it now?',
  schedule: '0 3 * * *',
  sessionLabel: 'tidy',
  slot: 'left-claw',
  spec: 'Update the changelog',
  target: 'left-claw',
  text: 'Almost done.',
  timeoutMs: 3_600_000,
  title: 'Update the changelog',
  to: 'head',
  to_agent: 'right-claw',
  type: 'report',
  untilAt: '2030-01-01T09:00:00.000Z',
};
const TIME = '2030-01-01T09:00:00.000Z';

/** The whole request or answer: what it must have, and what most callers say. */
export function exampleOf(schema: unknown, usual: readonly string[] = []): unknown {
  return valueOf(schema as Schema, null, usual);
}

function valueOf(schema: Schema, name: string | null, usual: readonly string[]): unknown {
  const { type, enum: choices, anyOf, items } = schema;
  if ('const' in schema) return schema.const;
  if (choices !== undefined) return choices[0];
  if (anyOf?.[0] !== undefined) return valueOf(anyOf[0], name, usual);
  const kind = typeof type === 'string' ? type : type?.[0];
  const known = name === null ? undefined : VALUES[name];
  const isListOfObjects = Array.isArray(known) && items?.type === 'object';
  if (known !== undefined && !isListOfObjects && (kind === undefined || kind === kindOf(known))) return known;
  switch (kind) {
    case 'object':
      return objectOf(schema, usual);
    case 'array':
      return items === undefined || '$ref' in items || (schema.minItems === 0 && name !== null)
        ? []
        : [valueOf(items, null, [])];
    case 'number':
    case 'integer':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return true;
    case 'string':
      return schema.format === 'date-time' ? TIME : 'text';
    case 'null':
      return null;
    case undefined:
    default:
      return schema.properties === undefined ? {} : objectOf(schema, usual);
  }
}

function objectOf({ properties = {}, required = [] }: Schema, usual: readonly string[]): object {
  const shown = Object.entries(properties).filter(
    ([name]) => required.includes(name) || usual.includes(name),
  );
  return Object.fromEntries(shown.map(([name, inner]) => [name, valueOf(inner, name, [])]));
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' ? 'integer' : typeof value;
}
