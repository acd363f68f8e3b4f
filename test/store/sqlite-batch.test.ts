import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row, Shape } from '../../src/store/sql/driver.ts';
import { SqliteConnection } from '../../src/store/sqlite-connection.ts';

const SHAPE: Shape = {
  table: 't',
  columns: [
    ['no', 'bigint'],
    ['a', 'text'],
    ['b', 'bigint'],
    ['c', 'text'],
  ],
  derived: 'd = t.d + 1',
};

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  nothing: [],
  'one row': [[2, 'x', 1, 'y']],
  'their key alone': [
    [1, 'x', 1, 'y'],
    [3, 'x', 1, 'y'],
  ],
  'their first column': [
    [1, 'x "\\', 1, 'y'],
    [2, null, 1, 'y'],
  ],
  'a column between others': [
    [1, 'x', 9_007_199_254_740_991, 'y'],
    [2, 'x', null, 'y'],
  ],
  'their last column': [
    [1, 'x', 1, 'ü'],
    [2, 'x', 1, ''],
  ],
  'two columns': [
    [1, 'x', 1, 'y'],
    [2, 'z', 2, 'y'],
  ],
};

for (const [what, rows] of Object.entries(ROWS))
  test(`rows that differ in ${what} are updated together as one by one`, () => {
    assert.deepEqual(after([rows]), after(rows.map((row) => [row])));
  });

/** What three rows are like after these updates. */
function after(updates: readonly (readonly Row[])[]): Row[] {
  const sql = new SqliteConnection(':memory:');
  sql.database.exec(
    'create table t (no integer primary key, a text, b integer, c text, d integer not null default 1) strict; insert into t (no) values (1), (2), (3)',
  );
  for (const rows of updates) sql.update(SHAPE, rows);
  return sql.all('select * from t order by no', []);
}
