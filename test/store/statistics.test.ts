import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { migrateSqlite } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/index.ts';
import { JOB_RAW, rawRow } from '../../src/store/sql/job-row.ts';
import { SqliteConnection } from '../../src/store/sqlite-connection.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { row } from '../conformance/rows.ts';

/** As they were when servers gathered statistics as they closed. */
const BEFORE = MIGRATIONS.slice(0, 5);

/** How many jobs are read and written by their numbers at once. */
const MANY = [
  'select state from job where no in (select value from json_each($1))',
  'update job set state = state where no in (select value from json_each($1))',
  'update job set state = made.value from json_each($1) as made where job.no = cast(made.key as integer)',
];

test('statistics of a time when there were three jobs do not have SQLite read all of them later', () => {
  const sql = new SqliteConnection(':memory:');
  migrateSqlite(sql, BEFORE);
  const jobs = [1, 2, 3].map((no) => ({ ...row().job, no }));
  sql.insert(JOB_RAW, jobs.map(rawRow));
  sql.database.exec('analyze');
  assert.ok(scans(sql) > 0, 'these statistics do no harm, so nothing is shown here');
  migrateSqlite(sql);
  assert.equal(scans(sql), 0);
});

test('a server that closes leaves no statistics', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-statistics-'));
  const file = join(folder, 'spine.db');
  try {
    const store = openSqlite({ file, identity: 'x' });
    await store.transaction(0, async (tx) => tx.insertJobs([row(), row(), row()]));
    await store.close();
    const sql = new SqliteConnection(file);
    assert.deepEqual(sql.all('select * from sqlite_stat1', []), []);
    sql.database.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** How many of these go through the whole table of jobs. */
function scans(sql: SqliteConnection): number {
  return MANY.filter((text) =>
    sql.all(`explain query plan ${text}`, ['{}']).some((step) => step[3] === 'SCAN job'),
  ).length;
}
