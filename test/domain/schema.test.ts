import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { Meter } from '../../src/domain/schema/check.ts';
import { Schemas } from '../../src/domain/schema/schemas.ts';

/** The promise is 50 ms; the first run of code that is not compiled yet, on an old machine, may take more. */
const CEILING_MS = 150;

/** Processor time of this thread: other work on the machine does not count. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

const schemas = new Schemas();
const problemWith = (schema: unknown): string | null => schemas.problemWith(schema);
const mismatch = (schema: unknown, value: unknown) =>
  schemas.mismatch(JSON.stringify(schema), value, new Meter());

/** Small schemas over small values, so that they meet. */
const scalar = fc.oneof(
  fc.constantFrom(null, true, false, 0, 1, 2, 5, -1, 1.5, '', 'a', 'ab', '😀', 'abc'),
  fc.integer({ min: -3, max: 12 }),
);
const name = fc.constantFrom('a', 'b', 'ab', 'c');
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const count = fc.integer({ min: 0, max: 3 });
const pattern = fc.constantFrom('^a', 'b$', '[ab]+', '^.?$', '^(a|b){2,3}$');
const typeName = fc.constantFrom('null', 'boolean', 'number', 'integer', 'string', 'array', 'object');

const { schema } = fc.letrec<{ schema: unknown }>((tie) => {
  const sub = tie('schema');
  const some = fc.array(sub, { minLength: 1, maxLength: 3 });
  const fields = fc.dictionary(name, sub, { maxKeys: 3 });
  return {
    schema: fc.oneof(
      { maxDepth: 3, depthSize: 'small', withCrossShrink: true },
      fc.boolean(),
      fc
        .record(
          {
            type: fc.oneof(typeName, fc.uniqueArray(typeName, { minLength: 1, maxLength: 3 })),
            enum: fc.uniqueArray(value, { minLength: 1, maxLength: 3 }),
            const: value,
            minimum: fc.integer({ min: -2, max: 4 }),
            maximum: fc.integer({ min: -2, max: 9 }),
            exclusiveMinimum: fc.integer({ min: -2, max: 4 }),
            exclusiveMaximum: fc.integer({ min: -2, max: 9 }),
            multipleOf: fc.constantFrom(1, 2, 0.5),
            minLength: count,
            maxLength: count,
            pattern,
            minItems: count,
            maxItems: count,
            uniqueItems: fc.boolean(),
            items: sub,
            // Ajv lets an empty list pass where nothing can be contained.
            contains: sub.filter((each) => each !== false),
            minProperties: count,
            maxProperties: count,
            required: fc.uniqueArray(name, { maxLength: 2 }),
            properties: fields,
            patternProperties: fc.dictionary(pattern, sub, { maxKeys: 2 }),
            additionalProperties: sub,
            propertyNames: sub,
            if: sub,
            // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
            then: sub,
            else: sub,
            allOf: some,
            anyOf: some,
            oneOf: some,
            not: sub,
            $ref: fc.constantFrom('#/$defs/one', '#/$defs/two'),
          },
          { requiredKeys: [] },
        )
        .map((whole) => {
          // All keywords at once fit nothing.
          const entries = Object.entries(whole);
          return Object.fromEntries(entries.filter((_, i) => i % 3 === entries.length % 3));
        }),
    ),
  };
});
const tuples = fc.record(
  { prefixItems: fc.array(schema, { minLength: 1, maxLength: 3 }), items: schema },
  { requiredKeys: ['prefixItems'] },
);
// Beside prefixItems Ajv skips these for an empty list.
const counting = fc.record(
  { contains: schema.filter((each) => each !== false), minContains: count, maxContains: count },
  { requiredKeys: ['contains'] },
);
const depending = fc.record(
  {
    dependentRequired: fc.dictionary(name, fc.uniqueArray(name)),
    dependentSchemas: fc.dictionary(name, schema),
  },
  { requiredKeys: [] },
);
const draft7 = fc.record(
  {
    items: fc.oneof(schema, fc.array(schema, { minLength: 1, maxLength: 3 })),
    additionalItems: schema,
    dependencies: fc.dictionary(name, fc.oneof(schema, fc.uniqueArray(name))),
  },
  { requiredKeys: [] },
);

/** Ajv's own code fails on some nests of `oneOf` and `if`: of those it says nothing. */
function judgement(validate: () => boolean): boolean | null {
  try {
    return validate();
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

for (const { draft, root, judge } of [
  { draft: '2020-12', root: fc.oneof(schema, tuples, counting, depending), judge: Ajv2020 },
  { draft: '7', root: fc.oneof(schema, draft7), judge: Ajv },
]) {
  test(`judges schemas and values of draft ${draft} as Ajv does`, () => {
    const ajv = new judge({ strict: false, logger: false, validateSchema: false });
    const kinds = { fits: 0, unfit: 0 };
    // The definitions refer to nothing: circles have their own test.
    const leaf = fc.constantFrom<object>(
      { type: 'string' },
      { minimum: 1 },
      { required: ['a'] },
      { maxItems: 2 },
    );
    fc.assert(
      fc.property(
        root,
        leaf,
        leaf,
        fc.array(value, { minLength: 5, maxLength: 5 }),
        (body, one, two, values) => {
          const whole = { ...(body as object), $defs: { one, two } };
          const validate = ajv.compile(whole);
          assert.equal(problemWith(whole), null);
          for (const each of values) {
            const found = mismatch(whole, each);
            kinds[found === null ? 'fits' : 'unfit']++;
            const expected = judgement(() => validate(each));
            if (expected === null) continue;
            assert.equal(found === null, expected, `${JSON.stringify(whole)} on ${JSON.stringify(each)}`);
          }
        },
      ),
      { numRuns: 200 },
    );
    assert.ok(Math.min(kinds.fits, kinds.unfit) > 50, JSON.stringify(kinds));
  });
}

test('names the field that does not fit, and why', () => {
  const nested = { properties: { a: { items: { properties: { 'b/c': { type: 'integer' } } } } } };
  assert.deepEqual(mismatch(nested, { a: [{}, { 'b/c': 'x' }] }), {
    kind: 'unfit',
    why: '/a/1/b~1c must be integer',
  });
  const long = mismatch({ additionalProperties: false }, { ['x'.repeat(1_000_000)]: 1 });
  assert.ok((long?.why.length ?? 0) < 200, long?.why.slice(0, 300));
});

test('checks the formats that it accepts, and refuses the others by name', () => {
  const right: Readonly<Record<string, readonly unknown[]>> = {
    date: ['2026-02-28', 5],
    time: ['23:59:60Z', '10:00:00.5+02:00'],
    'date-time': ['2026-11-16T10:00:00Z'],
    duration: ['P1D', 'PT5M', 'P2W'],
    email: ['a@b.example'],
    hostname: ['a-b.example'],
    ipv4: ['127.0.0.1'],
    ipv6: ['::1', 'fe80::1'],
    uri: ['https://a.example/?q=1', 'urn:a:b'],
    'uri-reference': ['/a?b', 'a'],
    uuid: ['01890a5d-ac96-774b-bcce-b302099a8057'],
    int32: [2_147_483_647],
    int64: [2 ** 53],
    float: [1.5],
    double: [1.5],
    password: ['x'],
  };
  const wrong: Readonly<Record<string, readonly unknown[]>> = {
    date: ['2026-02-30', '26-1-1', '2026-13-01'],
    time: ['24:00:00Z', '10:00'],
    'date-time': ['2026-11-16', '2026-11-16T10:00:00', '2026-02-30T10:00:00Z'],
    duration: ['P', 'PT', '1D'],
    email: ['a', 'a@', '@b', 'a b@c'],
    hostname: ['-a', 'a..b'],
    ipv4: ['256.0.0.1', '1.2.3', '001.2.3.4'],
    ipv6: ['1', ':::'],
    uri: ['/a', 'a b:c', 'http://'],
    'uri-reference': ['a b'],
    uuid: ['01890a5d'],
    int32: [2_147_483_648, 1.5],
    int64: [1.5],
  };
  for (const [format, values] of Object.entries(right))
    for (const each of values) assert.equal(mismatch({ format }, each), null, `${format} ${String(each)}`);
  for (const [format, values] of Object.entries(wrong))
    for (const each of values)
      assert.equal(mismatch({ format }, each)?.kind, 'unfit', `${format} ${String(each)}`);
  assert.match(
    problemWith({ properties: { a: { format: 'colour' } } }) ?? '',
    /^\/properties\/a\/format must be one of date,/,
  );
});

test('refuses schemas that cannot be used, wherever the fault stands', () => {
  const refused: readonly (readonly [unknown, RegExp])[] = [
    [null, /must be an object/],
    [[], /must be an object/],
    ['text', /must be an object/],
    [{ $async: true }, /^\/\$async is not supported/],
    [{ $async: false }, /^\/\$async/],
    [{ properties: { a: { $async: true } } }, /^\/properties\/a\/\$async/],
    [{ $defs: { a: { $async: true } } }, /^\/\$defs\/a\/\$async/],
    [{ definitions: { a: { items: [{ $async: true }] } } }, /\$async/],
    [{ $ref: '#/x/y', x: { y: { $async: true } } }, /^\/x\/y\/\$async/],
    [{ anyOf: [{ if: { $async: true } }] }, /\$async/],
    [{ minimum: { $data: '1/a' } }, /^\/minimum must be a number/],
    [{ properties: { a: { $data: '1/b' } } }, /\$data/],
    [{ discriminator: { propertyName: 'a' }, oneOf: [{}] }, /discriminator/],
    [{ unevaluatedProperties: false }, /unevaluatedProperties/],
    [{ properties: { a: { $id: 'b' } } }, /\$id/],
    [{ $dynamicRef: '#a' }, /\$dynamicRef/],
    [{ $ref: 'https://elsewhere.example/schema' }, /must point into this schema/],
    [{ $ref: '#/$defs/none' }, /names nothing/],
    [{ $ref: '#' }, /circle/],
    [{ $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } } }, /circle/],
    [{ type: 'nonsense' }, /^\/type must be one or more of null, boolean/],
    [{ type: 'constructor' }, /^\/type/],
    [{ pattern: '(?=a)' }, /lookaround/],
    [{ pattern: '(' }, /cannot be used/],
    [{ pattern: '^(\\w+\\s?){1,500}$' }, /grows too large/],
    [{ pattern: `(?:${'a'.repeat(900)}){1000}` }, /grows too large/],
    [{ pattern: '((a{30}){30}){30}' }, /grows too large/],
    [{ patternProperties: { '[': {} } }, /cannot be used/],
    [{ properties: [] }, /must be an object of schemas/],
    [{ items: 5 }, /must be a schema/],
    [{ required: 'a' }, /list of names/],
    [{ minLength: -1 }, /whole number/],
    [{ enum: [] }, /not empty/],
    [{ allOf: {} }, /list of schemas/],
    [{ description: 'x'.repeat(100_001) }, /more than 100000 characters/],
    [
      { allOf: Array.from({ length: 2_600 }, () => ({ type: 'string', title: 't' })) },
      /more than 5000 keywords/,
    ],
  ];
  for (const [each, words] of refused)
    assert.match(problemWith(each) ?? 'accepted', words, JSON.stringify(each)?.slice(0, 200));
});

test('says of a stored schema that cannot be used what is wrong with it', () => {
  for (const text of [
    '{"$async":true}',
    '{',
    '[]',
    '"x"',
    '[{"a":'.repeat(20_000),
    '{"$schema":5,"type":["x"]}',
  ])
    assert.equal(schemas.mismatch(text, {}, new Meter())?.kind, 'unusable', text.slice(0, 30));
});

/** Each of these took seconds, or would: with Ajv, with recursion, or with a naive comparison. */
const list = (length: number, item: (i: number) => unknown): unknown[] =>
  Array.from({ length }, (_, i) => item(i));
const doubling = {
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    list(60, (i) => [
      `d${i}`,
      i === 59
        ? { type: 'string' }
        : { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
    ]) as [string, object][],
  ),
};
const tree = {
  $defs: {
    t: {
      anyOf: [{ items: { $ref: '#/$defs/t' } }, { items: { $ref: '#/$defs/t' }, minItems: 9 }],
      maxItems: 1,
    },
  },
  $ref: '#/$defs/t',
};
const nested = (depth: number): unknown => (depth === 0 ? 'x' : [nested(depth - 1)]);
const ATTACKS: readonly (readonly [string, unknown, unknown])[] = [
  [
    'the pattern of the report, as large as it may be',
    { pattern: '^(\\w+\\s?){1,140}$' },
    `${'a'.repeat(250_000)}!`,
  ],
  ['a pattern with 2^300 states', { pattern: '(?:a|b)*a(?:a|b){300}$' }, 'ab'.repeat(500_000)],
  [
    'the same, as long as it may be',
    { pattern: '(?:a|b)*a(?:a|b){300}$' },
    list(1_100, (i) => ((i * 7_919) % 13 > 6 ? 'a' : 'b')).join(''),
  ],
  ['a long text and a small pattern', { pattern: '^[a-z]+$' }, `${'a'.repeat(60_000)}!`],
  [
    '20,000 different objects that must be unique',
    { uniqueItems: true },
    list(20_000, (i) => ({ a: { b: i }, c: [i] })),
  ],
  ['200,000 numbers that must be unique', { uniqueItems: true }, list(200_000, (i) => i)],
  ['long texts that must be unique', { uniqueItems: true }, list(20, (i) => `${'x'.repeat(50_000)}${i}`)],
  ['schemas that double sixty times', doubling, 5],
  ['branches at every level of the value', tree, nested(60)],
  [
    'a thousand branches for each item',
    { items: { anyOf: list(1_000, (i) => ({ const: i })) } },
    list(200_000, () => -1),
  ],
  [
    'a thousand lengths of one long text',
    { anyOf: list(1_000, (i) => ({ maxLength: 500_000 + i })) },
    'é'.repeat(1_000_000),
  ],
  [
    'an enum of 10,000 for each item',
    { items: { enum: list(10_000, (i) => i) } },
    list(200_000, (i) => i % 10_000),
  ],
  [
    'a large constant for each item',
    { items: { const: list(10_000, (i) => i) } },
    list(50, () => list(10_000, (i) => i)),
  ],
  [
    '100,000 fields against 20 patterns',
    { patternProperties: Object.fromEntries(list(20, (i) => [`^k${i}(a|b)*$`, {}]) as [string, object][]) },
    Object.fromEntries(list(100_000, (i) => [`k${i}`, i]) as [string, number][]),
  ],
  [
    'names as long as the body',
    { propertyNames: { pattern: 'a$' }, additionalProperties: false },
    { ['a'.repeat(1_000_000)]: 1 },
  ],
  [
    'contains over all items',
    { contains: { allOf: list(500, () => ({ type: 'string' })) } },
    list(300_000, () => 1),
  ],
  [
    'a long text as every format',
    { anyOf: ['uri', 'email', 'date-time', 'ipv6', 'hostname', 'duration'].map((format) => ({ format })) },
    `http:${'a.'.repeat(400_000)} `,
  ],
  [
    '4,900 fields in the schema for each item',
    { items: { properties: Object.fromEntries(list(4_900, (i) => [`f${i}`, {}]) as [string, object][]) } },
    list(100_000, () => ({})),
  ],
];

for (const [words, attack, victim] of ATTACKS) {
  test(`ends in time: ${words}`, (t) => {
    const fresh = new Schemas();
    const text = JSON.stringify(attack);
    const before = cpuMs();
    assert.equal(fresh.problemWith(attack), null);
    const compiled = cpuMs();
    const found = fresh.mismatch(text, victim, new Meter());
    const checked = cpuMs();
    t.diagnostic(
      `saved in ${(compiled - before).toFixed(1)} ms, checked in ${(checked - compiled).toFixed(1)} ms: ${found?.kind ?? 'fits'}`,
    );
    assert.ok(
      compiled - before < CEILING_MS && checked - compiled < CEILING_MS,
      `${compiled - before}, ${checked - compiled}`,
    );
  });
}

test('checks ordinary large params: a megabyte of numbers, and of texts with a pattern', () => {
  assert.equal(
    mismatch(
      { items: { type: 'number', minimum: 0 } },
      list(250_000, (i) => i),
    ),
    null,
  );
  const row = {
    type: 'object',
    required: ['id'],
    properties: { id: { type: 'string', pattern: '^[a-f0-9-]{36}$' } },
  };
  const rows = list(1_000, () => ({ id: '01890a5d-ac96-774b-bcce-b302099a8057' }));
  assert.equal(mismatch({ items: row }, rows), null);
});
