import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { migratePostgres, migrateSqlite, nextStep, SchemaError } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/index.ts';
import type { Migration } from '../../src/store/migrations/migration.ts';
import { SqliteConnection } from '../../src/store/sqlite-connection.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { emptyDatabase, skipWithoutPostgres } from '../support/postgres.ts';

const step = (version: number, change: Partial<Migration> = {}): Migration => {
  const made = `create table made${version} (no integer primary key)`;
  return { version, name: `step${version}`, breaking: false, sqlite: made, postgres: made, ...change };
};
const NEXT = MIGRATIONS.length + 1;

test('the steps are numbered 1, 2, 3 … and their order is the order of their numbers', () => {
  assert.deepEqual(
    MIGRATIONS.map(({ version }) => version),
    MIGRATIONS.map((_, i) => i + 1),
  );
});

test('a migrated database is left as it is by migrating again', () => {
  const connection = new SqliteConnection(':memory:');
  migrateSqlite(connection);
  const before = dumpSqlite(connection);
  migrateSqlite(connection);
  assert.deepEqual(dumpSqlite(connection), before);
});

test('a database of a newer Spine is refused when its step breaks older ones, and taken when not', () => {
  const connection = new SqliteConnection(':memory:');
  migrateSqlite(connection, [...MIGRATIONS, step(NEXT)]);
  migrateSqlite(connection);
  migrateSqlite(connection, [
    ...MIGRATIONS,
    step(NEXT),
    step(NEXT + 1, { breaking: true, name: 'tomorrow' }),
  ]);
  const refused = catchError(() => migrateSqlite(connection));
  assert.ok(refused instanceof SchemaError);
  assert.equal(refused.exitCode, 78);
  assert.match(refused.message, new RegExp(`step ${NEXT + 1} \\(tomorrow\\).*newer Spine`));
});

test('a step whose text changed after it was applied is refused', () => {
  const connection = new SqliteConnection(':memory:');
  migrateSqlite(connection, [step(1)]);
  const refused = catchError(() =>
    migrateSqlite(connection, [step(1, { sqlite: 'create table made1 (other integer)' })]),
  );
  assert.ok(refused instanceof SchemaError);
  assert.equal(refused.exitCode, 78);
  assert.match(refused.message, /step 1 \(step1\)/);
});

test('a step that fails leaves neither its tables nor its number', () => {
  const connection = new SqliteConnection(':memory:');
  const broken = step(2, { sqlite: 'create table half (no integer); create table half (no integer)' });
  assert.throws(() => migrateSqlite(connection, [step(1), broken]), /table half already exists/);
  assert.deepEqual(connection.all("select name from sqlite_master where name in ('half', 'made1')", []), [
    ['made1'],
  ]);
  assert.deepEqual(connection.all('select version from migration', []), [[1]]);
  migrateSqlite(connection, [step(1), step(2)]);
  assert.deepEqual(connection.all('select version from migration order by version', []), [[1], [2]]);
});

test('the missing steps are found in order, one at a time', () => {
  const steps = [step(1), step(2), step(3)];
  const connection = new SqliteConnection(':memory:');
  migrateSqlite(connection, steps.slice(0, 1));
  const applied = connection
    .all('select version, name, breaking, checksum from migration', [])
    .map((row) => ({
      version: Number(row[0]),
      name: String(row[1]),
      breaking: row[2] === 1,
      checksum: String(row[3]),
    }));
  assert.equal(nextStep(applied, steps, 'sqlite')?.version, 2);
  assert.equal(nextStep([], steps, 'sqlite')?.version, 1);
  assert.equal(nextStep(applied, steps.slice(0, 1), 'sqlite'), null);
});

test('a database gets the steps that it misses, and keeps what it has [SC-93]', () => {
  const connection = new SqliteConnection(':memory:');
  migrateSqlite(connection);
  connection.run("insert into meta (name, value) values ('kept', 'yes')", []);
  migrateSqlite(connection, [...MIGRATIONS, step(NEXT), step(NEXT + 1)]);
  assert.deepEqual(connection.all('select name from schema_migrations order by version', []).slice(-2), [
    [`step${NEXT}`],
    [`step${NEXT + 1}`],
  ]);
  assert.deepEqual(connection.all("select value from meta where name = 'kept'", []), [['yes']]);
});

test('a step that was left out between others is made up for', () => {
  const connection = new SqliteConnection(':memory:');
  migrateSqlite(connection, [step(1), step(3)]);
  migrateSqlite(connection, [step(1), step(2), step(3)]);
  assert.deepEqual(connection.all('select version from migration order by version', []), [[1], [2], [3]]);
  assert.equal(connection.all("select 1 from sqlite_master where name = 'made2'", []).length, 1);
});

test('opening a database refuses one of a newer Spine and writes nothing into it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'spine-migrate-'));
  try {
    const file = join(folder, 'spine.db');
    const made = new SqliteConnection(file);
    migrateSqlite(made, [...MIGRATIONS, step(NEXT, { breaking: true })]);
    const before = dumpSqlite(made);
    assert.throws(() => openSqlite({ file, identity: 'x' }), SchemaError);
    assert.deepEqual(dumpSqlite(made), before);
    made.database.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const postgres = { skip: skipWithoutPostgres };

test(
  'PostgreSQL: a migrated database is left as it is, newer and changed ones are refused',
  postgres,
  async () => {
    await onPostgres(async (client) => {
      await migratePostgres(client);
      const before = await dumpPostgres(client);
      await migratePostgres(client);
      assert.deepEqual(await dumpPostgres(client), before);
      const changed = MIGRATIONS.map((each, i) =>
        i === 0 ? { ...each, postgres: `${each.postgres} ` } : each,
      );
      await assert.rejects(migratePostgres(client, changed), SchemaError);
      await migratePostgres(client, [...MIGRATIONS, step(NEXT, { breaking: true })]);
      await assert.rejects(
        migratePostgres(client),
        (error: Error) => error instanceof SchemaError && error.exitCode === 78,
      );
    });
  },
);

test(
  'PostgreSQL: a database gets the steps that it misses, and keeps what it has [SC-93]',
  postgres,
  async () => {
    await onPostgres(async (client) => {
      await migratePostgres(client);
      await client.query("insert into meta (name, value) values ('kept', 'yes')");
      await migratePostgres(client, [...MIGRATIONS, step(NEXT)]);
      const steps = await client.query('select name from schema_migrations order by version desc limit 1');
      assert.deepEqual(steps.rows, [{ name: `step${NEXT}` }]);
      const kept = await client.query("select value from meta where name = 'kept'");
      assert.deepEqual(kept.rows, [{ value: 'yes' }]);
    });
  },
);

test('PostgreSQL: a step that fails leaves neither its tables nor its number', postgres, async () => {
  await onPostgres(async (client) => {
    const broken = step(2, { postgres: 'create table half (no integer); create table half (no integer)' });
    await assert.rejects(migratePostgres(client, [step(1), broken]), /relation "half" already exists/);
    const { rows } = await client.query(
      "select tablename from pg_tables where schemaname = 'public' order by 1",
    );
    assert.deepEqual(
      rows.map((row: { tablename: string }) => row.tablename),
      ['made1', 'migration'],
    );
    await migratePostgres(client, [step(1), step(2)]);
  });
});

test('PostgreSQL: four processes that migrate at once make one schema and no error', postgres, async () => {
  await onPostgres(async (client, url) => {
    const outputs = await Promise.all([1, 2, 3, 4].map(() => openInChild(url)));
    assert.equal(new Set(outputs).size, 1, `they disagree on who they are: ${outputs.join()}`);
    const found = await dumpPostgres(client);
    await onPostgres(async (alone) => {
      await migratePostgres(alone);
      assert.deepEqual(found, await dumpPostgres(alone));
    });
  });
});

const OPENER = fileURLToPath(new URL('../conformance/child-opener.ts', import.meta.url));

async function openInChild(url: string): Promise<string> {
  const child = spawn(process.execPath, [OPENER, url], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  assert.equal(child.exitCode, 0);
  return output;
}

function catchError(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

function dumpSqlite(connection: SqliteConnection): unknown {
  return [
    connection.all('select type, name, sql from sqlite_master order by name', []),
    connection.all('select version, name, breaking, checksum from migration', []),
    connection.all('select name, value from revision', []),
  ];
}

async function dumpPostgres(client: Client): Promise<unknown> {
  const columns = await client.query(
    "select table_name, column_name, data_type, is_nullable from information_schema.columns where table_schema = 'public' order by 1, 2",
  );
  const indexes = await client.query(
    "select indexdef from pg_indexes where schemaname = 'public' order by 1",
  );
  const steps = await client.query(
    'select version, name, breaking, checksum from migration order by version',
  );
  const revisions = await client.query('select name, value from revision order by name');
  return [columns.rows, indexes.rows, steps.rows, revisions.rows];
}

async function onPostgres(work: (client: Client, url: string) => Promise<void>): Promise<void> {
  const database = await emptyDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    await work(client, database.url);
  } finally {
    await client.end();
    await database.drop();
  }
}
