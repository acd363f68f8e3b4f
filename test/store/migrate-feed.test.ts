import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, types } from 'pg';
import { migratePostgres, migrateSqlite } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/index.ts';
import { PostgresConnection } from '../../src/store/postgres-connection.ts';
import { readsOver } from '../../src/store/sql/reads.ts';
import { JOB_RAW, rawRow } from '../../src/store/sql/job-row.ts';
import type { Sql } from '../../src/store/sql/driver.ts';
import { SqliteConnection } from '../../src/store/sqlite-connection.ts';
import { row } from '../conformance/rows.ts';
import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';

/** The last step before events went to their flush, first with their place in the feed, then whole. */
const BEFORE = MIGRATIONS.slice(0, 4);

test('events of a SQLite database of before keep their place in the feed and in their job', async () => {
  const connection = new SqliteConnection(':memory:');
  migrateSqlite(connection, BEFORE);
  await writeAsBefore(connection);
  migrateSqlite(connection);
  await checkFeed(connection);
});

test('events of a PostgreSQL database of before keep their place in the feed and in their job', {
  skip: skipWithoutPostgres,
}, async () => {
  const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  types.setTypeParser(types.builtins.INT8, Number);
  const client = new Client({ connectionString: database.url });
  await client.connect();
  try {
    const connection = new PostgresConnection(client);
    await migratePostgres(client, BEFORE);
    await writeAsBefore(connection);
    await migratePostgres(client);
    await checkFeed(connection);
  } finally {
    await client.end();
    await database.drop();
  }
});

const FACTS = '{"text":"Grüße \\"b\\"","n":[1,null]}';

/** Two flushes; the second has lost its first event to the pruner. */
async function writeAsBefore(sql: Sql): Promise<void> {
  const jobs = [1, 2].map((no) => ({ ...row({ id: `job-${no}` }).job, no }));
  await sql.insert(JOB_RAW, jobs.map(rawRow));
  for (const no of [7, 8])
    await sql.run('insert into flush (no, pos, at) values ($1, $2, $3)', [no, no + 1, 5]);
  for (const [flush, ordinal, job, seq] of [
    [7, 0, 1, 1],
    [7, 1, 2, 1],
    [7, 2, 1, 2],
    [8, 1, 2, 2],
  ] as const)
    await sql.run(
      "insert into event (flush_no, ordinal, job_no, seq, at, kind, actor, facts) values ($1, $2, $3, $4, 5, 'job.comment', 'me', $5)",
      [flush, ordinal, job, seq, seq === 1 ? null : FACTS],
    );
}

async function checkFeed(sql: Sql): Promise<void> {
  const read = readsOver(sql);
  const seen = async (pos: number, ordinal: number): Promise<string[]> =>
    (await read.feed({ pos, ordinal }, 10)).map(
      (event) => `${event.pos}.${event.ordinal} ${event.jobId} ${event.seq}`,
    );
  assert.deepEqual(await seen(0, 0), ['8.0 job-1 1', '8.1 job-2 1', '8.2 job-1 2', '9.1 job-2 2']);
  assert.deepEqual(await seen(8, 1), ['8.2 job-1 2', '9.1 job-2 2']);
  assert.deepEqual(await read.feedEnd(), { pos: 9, ordinal: 1 });
  assert.deepEqual((await read.feed({ pos: 8, ordinal: 1 }, 1))[0]?.facts, JSON.parse(FACTS));
  assert.deepEqual(
    (await read.eventsOf(1, 0, 10)).map(({ seq, kind, by }) => [seq, kind, by]),
    [
      [1, 'job.comment', 'me'],
      [2, 'job.comment', 'me'],
    ],
  );
}
