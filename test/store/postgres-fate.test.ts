import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, type QueryConfig } from 'pg';
import { type Fate, fateOf } from '../../src/store/postgres-fate.ts';
import { backendOf } from '../../src/store/postgres-session.ts';
import type { PostgresWatch } from '../../src/store/postgres-watch.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { FakeClock } from '../support/clock.ts';
import { skipWithoutPostgres } from '../support/postgres.ts';

const BACKEND = { pid: 1, startedAt: '2026-01-01 00:00:00+00' };

/** As much of the watch as asks, and what the database says. */
function asking(answer: (query: QueryConfig) => Promise<unknown[][]>): PostgresWatch {
  const watch = { clock: new FakeClock(), ask: answer, endAbandoned: async () => undefined };
  return watch as unknown as PostgresWatch;
}

const SAID: readonly (readonly [what: string, row: readonly unknown[], fate: Fate])[] = [
  ['a commit of a database that went on is one', ['committed', false], 'committed'],
  ['after a crash the number may be another’s: a commit is not known', ['committed', true], 'unknown'],
  ['what has not happened has not happened, crash or not', ['aborted', true], 'aborted'],
  ['a database that never heard of it says nothing', [null, false], 'unknown'],
];

for (const [what, row, fate] of SAID) {
  test(`a commit without an answer: ${what}`, async () => {
    const watch = asking(async () => [[...row]]);
    assert.equal(await fateOf(watch, '7', BACKEND, watch.clock.now()), fate);
  });
}

test('a commit without an answer: the database knows whether it has crashed since', {
  skip: skipWithoutPostgres,
}, async () => {
  const client = new Client({ connectionString: process.env['TEST_POSTGRES_URL'] ?? '' });
  await client.connect();
  try {
    const { rows } = await client.query<{ xid: string }>('select pg_current_xact_id()::text as xid');
    const xid = rows[0]?.xid ?? '';
    const watch = asking(async (query) => {
      return (await client.query<unknown[]>({ ...query, rowMode: 'array' })).rows;
    });
    const now = watch.clock.now();
    assert.equal(await fateOf(watch, xid, await backendOf(client, systemClock()), now), 'committed');
    // As if the connection had been there before the database began.
    assert.equal(await fateOf(watch, xid, { pid: 1, startedAt: '2000-01-01 00:00:00+00' }, now), 'unknown');
  } finally {
    await client.end();
  }
});
