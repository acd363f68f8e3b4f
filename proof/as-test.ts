import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { skipWithoutPostgres } from '../test/support/postgres.ts';
import type { ProofReport } from './report.ts';
import { openStore, type ProofStore, runningPostgres, type StoreKind } from './stores.ts';

/** The exception from the limit of a minute: some take half of one on a quiet machine. */
const HANGS_MS = 240_000;

/** The same, both stores beside each other: for what mostly waits. */
export function waitingProofTest(name: string, prove: (store: ProofStore) => Promise<ProofReport>): void {
  void suite('on each store', { concurrency: 2 }, () => proofTest(name, prove));
}

/** A small run of a proof as one test per store, each on an empty one. */
export function proofTest(
  name: string,
  prove: (store: ProofStore) => Promise<ProofReport>,
  kinds: readonly StoreKind[] = ['sqlite', 'postgres'],
): void {
  for (const kind of kinds) {
    const skip = kind === 'postgres' && skipWithoutPostgres;
    void test(`${name}, on ${kind}`, { skip, timeout: HANGS_MS }, async (t) => {
      await using store = await openStore(kind, runningPostgres(process.env['TEST_POSTGRES_URL'] ?? ''));
      const found = await prove(store);
      t.diagnostic(found.summary);
      assert.deepEqual(found.violations, [], found.summary);
    });
  }
}
