import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proveKillDatabase } from '../../proof/kill-database.ts';
import { freshSeed } from '../../proof/random.ts';
import { durablePostgres, openStore } from '../../proof/stores.ts';
import { skipWithoutPostgres } from '../support/postgres.ts';

// A PostgreSQL of its own: that of the other tests promises nothing, and they would be in the way.
test('loses and doubles nothing when PostgreSQL itself is killed under load [SP-36 SP-37]', {
  skip: skipWithoutPostgres,
  timeout: 120_000,
}, async (t) => {
  await using postgres = durablePostgres();
  await using store = await openStore('postgres', postgres);
  const found = await proveKillDatabase(store, { kills: 2, seed: freshSeed(), restartLimitMs: 60_000 });
  t.diagnostic(found.summary);
  assert.deepEqual(found.violations, [], found.summary);
});
