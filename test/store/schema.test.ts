import assert from 'node:assert/strict';
import { readFileSync, globSync } from 'node:fs';
import { test } from 'node:test';
import { Client } from 'pg';
import { migratePostgres, migrateSqlite } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/index.ts';
import { SqliteConnection } from '../../src/store/sqlite-connection.ts';
import { emptyDatabase, skipWithoutPostgres } from '../support/postgres.ts';

interface Schema {
  /** table.column, with whether it may be null. */
  readonly columns: readonly string[];
  /** Name, table, columns, and whether it is unique. */
  readonly indexes: readonly string[];
}

/** The words of jobs and runs are searched by each database in its own way, so these tables differ. */
const OWN_WAY = /^(job|run)_text/;

test('both databases have the same tables, columns, nulls and indexes', {
  skip: skipWithoutPostgres,
}, async () => {
  const [sqlite, postgres] = [sqliteSchema(), await postgresSchema()];
  assert.ok(sqlite.columns.length > 100 && sqlite.indexes.length > 20, 'the schema was not read');
  assert.deepEqual(sqlite.columns, postgres.columns);
  assert.deepEqual(sqlite.indexes.map(withoutNumber), postgres.indexes.map(withoutNumber));
});

/** SQLite ends every entry of an index with the row's number, named or not. */
function withoutNumber(index: string): string {
  return index.replace(/, no\)$/, ')');
}

test('the schema says in both databases what each of its tables and views is for', () => {
  for (const dialect of ['sqlite', 'postgres'] as const) {
    const lines = MIGRATIONS.flatMap((step) => step[dialect].split('\n'));
    const made = lines.flatMap((line, i) => (/^create (virtual )?(table|view)/.test(line) ? [i] : []));
    assert.ok(made.length > 30, 'the schema was not read');
    const silent = made.filter((i) => !lines[i - 1]?.startsWith('-- ')).map((i) => lines[i]);
    assert.deepEqual(silent, [], dialect);
  }
});

test('no statement asks the database what time it is, but the one that measures its clock', () => {
  const asking =
    /\b(now\s*\(\)|current_timestamp|clock_timestamp|localtimestamp|statement_timestamp|datetime\s*\(|unixepoch|julianday|strftime)/i;
  const found = globSync('src/store/**/*.ts').flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(
        (line) =>
          /select|insert|update|delete|create|where|values/i.test(line) &&
          asking.test(line) &&
          !line.trim().startsWith('//'),
      )
      .filter((line) => !line.includes('this.#options.clock'))
      .map((line) => `${file}: ${line.trim()}`),
  );
  assert.equal(found.length, 1, found.join('\n'));
  assert.match(found[0] ?? '', /clock_timestamp/);
});

function sqliteSchema(): Schema {
  const connection = new SqliteConnection(':memory:');
  migrateSqlite(connection);
  const { database } = connection;
  const all = (text: string, ...params: string[]): Record<string, unknown>[] =>
    database.prepare(text).all(...params);
  const tables = all(
    "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%' order by name",
  )
    .map(({ name }) => String(name))
    .filter((name) => !OWN_WAY.test(name));
  const columns = tables.flatMap((table) =>
    all('select name, "notnull" as strict, pk from pragma_table_xinfo(?)', table).map(
      ({ name, strict, pk }) =>
        `${table}.${String(name)} ${strict === 1 || Number(pk) > 0 ? 'not null' : 'null'}`,
    ),
  );
  const indexes = tables.flatMap((table) =>
    all('select name, "unique" as once from pragma_index_list(?) where origin = \'c\'', table).map(
      ({ name, once }) => {
        const parts = all('select name from pragma_index_info(?) order by seqno', String(name)).map((part) =>
          String(part['name']),
        );
        return `${String(name)} on ${table} (${parts.join(', ')})${once === 1 ? ' unique' : ''}`;
      },
    ),
  );
  database.close();
  return { columns: columns.toSorted(), indexes: indexes.toSorted() };
}

async function postgresSchema(): Promise<Schema> {
  const database = await emptyDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    await migratePostgres(client);
    const columns = await client.query<{ line: string; table: string }>(`
      select table_name as "table", table_name || '.' || column_name || case is_nullable when 'NO' then ' not null' else ' null' end as line
      from information_schema.columns where table_schema = 'public'`);
    const indexes = await client.query<{ line: string; table: string }>(`
      select heap.relname as "table", idx.relname || ' on ' || heap.relname || ' (' || (
        select string_agg(attribute.attname, ', ' order by place.ordinality)
        from unnest(i.indkey) with ordinality as place (attnum, ordinality)
        join pg_attribute attribute on attribute.attrelid = heap.oid and attribute.attnum = place.attnum
      ) || ')' || case when i.indisunique then ' unique' else '' end as line
      from pg_index i join pg_class idx on idx.oid = i.indexrelid join pg_class heap on heap.oid = i.indrelid
      join pg_namespace space on space.oid = heap.relnamespace
      where space.nspname = 'public' and not exists (select 1 from pg_constraint c where c.conindid = idx.oid)`);
    const lines = (rows: { line: string; table: string }[]): string[] =>
      rows
        .filter(({ table }) => !OWN_WAY.test(table))
        .map(({ line }) => line)
        .toSorted();
    return { columns: lines(columns.rows), indexes: lines(indexes.rows) };
  } finally {
    await client.end();
    await database.drop();
  }
}
