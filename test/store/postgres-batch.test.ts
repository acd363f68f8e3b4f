import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { insertBatch, updateBatch } from '../../src/store/postgres-batch.ts';
import { PostgresConnection, types } from '../../src/store/postgres-connection.ts';
import type { Row, Shape } from '../../src/store/sql/driver.ts';
import { skipWithoutPostgres } from '../support/postgres.ts';

const COLUMNS: Shape['columns'] = [
  ['no', 'bigint'],
  ['a', 'text'],
  ['b', 'bigint'],
  ['c', 'text'],
];

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  'nothing, there being one': [[2, 'x', 1, 'y']],
  'their key alone': [
    [1, 'x', 1, 'y'],
    [3, 'x', 1, 'y'],
  ],
  'a text': [
    [1, 'x "\\{},\n', 1, 'y'],
    [2, null, 1, 'y'],
    [3, 'NULL', 1, 'y'],
  ],
  'a number': [
    [1, 'x', 9_007_199_254_740_991, 'y'],
    [2, 'x', null, 'y'],
  ],
  'their last column': [
    [1, null, 1, 'ü'],
    [2, null, 1, ''],
  ],
  'every column': [
    [1, 'x', 1, 'y'],
    [2, 'z', 2, "'"],
    [3, '', null, null],
  ],
};

for (const [what, rows] of Object.entries(ROWS))
  test(`rows that differ in ${what} are inserted and updated together as one by one`, {
    skip: skipWithoutPostgres,
  }, async () => {
    const one = rows.map((row) => [row]);
    assert.deepEqual(await after('insert', [rows]), await after('insert', one));
    assert.deepEqual(await after('update', [rows]), await after('update', one));
  });

test('rows of a rare kind are written by the statement of a wider kind, with the same effect', {
  skip: skipWithoutPostgres,
}, async () => {
  const columns: Shape['columns'] = [['no', 'bigint'], ...letters().map((name) => [name, 'text'] as const)];
  const shape: Shape = { table: 'wide', columns };
  const texts = new Set<string>();
  // Each batch differs in another set of columns: many more than a statement is kept for.
  const batches = Array.from({ length: 31 }, (_, which) =>
    [1, 2].map((no) => [no, ...letters().map((name, i) => ((which + 1) & (1 << i) ? `${name}${no}` : name))]),
  );
  const sql = await connected(
    `create temp table wide (no bigint primary key, ${letters().join(' text, ')} text)`,
  );
  try {
    await sql.connection.insert(shape, [
      [1, ...letters()],
      [2, ...letters()],
    ]);
    for (const rows of batches) {
      texts.add(updateBatch(shape, rows).text);
      await sql.connection.update(shape, rows);
      assert.deepEqual(await sql.connection.all('select * from wide order by no', []), rows);
    }
  } finally {
    await sql.end();
  }
  assert.ok(texts.size <= 16, `${texts.size} statements are kept`);
});

test('a column on which all rows agree travels once', () => {
  const shape: Shape = { table: 't', columns: COLUMNS };
  const { params } = insertBatch(shape, [
    [1, 'x', 5, 'y'],
    [2, 'x', 6, 'y'],
  ]);
  assert.deepEqual(params, ['{1,2}', 'x', '{5,6}', 'y']);
});

function letters(): string[] {
  return ['e', 'f', 'g', 'h', 'i'];
}

/** What three rows, or none, are like after these batches. */
async function after(verb: 'insert' | 'update', batches: readonly (readonly Row[])[]): Promise<Row[]> {
  const sql = await connected(
    'create temp table t (no bigint primary key, a text, b bigint, c text, d bigint not null default 1)',
  );
  const shape: Shape =
    verb === 'insert'
      ? { table: 't', columns: COLUMNS, given: [['d', '2 + 3']] }
      : { table: 't', columns: COLUMNS, derived: 'd = t.d + 1' };
  try {
    if (verb === 'update') await sql.connection.run('insert into t (no) values (1), (2), (3)', []);
    for (const rows of batches) await sql.connection[verb](shape, rows);
    return await sql.connection.all('select * from t order by no', []);
  } finally {
    await sql.end();
  }
}

async function connected(schema: string) {
  const client = new Client({ connectionString: process.env['TEST_POSTGRES_URL'] ?? '', types });
  await client.connect();
  await client.query(schema);
  return { connection: new PostgresConnection(client), end: () => client.end() };
}
