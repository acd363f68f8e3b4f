/** Unique keys, idempotency keys, children. */

import type { Mutant } from '../mutant.ts';

const STORES = ['test/conformance/sqlite-memory.test.ts'];

export const KEYS: readonly Mutant[] = [
  {
    name: 'unique-key-of-running-holder',
    means: 'a second job under the key of a running one is answered with 500 instead of its holder',
    file: 'src/store/reads/jobs.ts',
    find: `and unique_key = $2 and finished_at is null'`,
    replace: `and unique_key = $2 and finished_at is null and lease_token is null'`,
    seenBy: STORES,
  },
  {
    name: 'unique-key-never-freed',
    means: 'a unique key stays taken when its job has ended',
    file: 'src/store/reads/jobs.ts',
    find: `and unique_key = $2 and finished_at is null'`,
    replace: `and unique_key = $2'`,
    seenBy: STORES,
  },
  {
    name: 'unique-keys-of-types-mixed',
    means: 'a key of one type blocks the same key of another',
    file: 'src/engine/creation-batch.ts',
    find: 'return `${job.typeNo}\\n${job.uniqueKey}`;',
    replace: 'return `${job.uniqueKey}`;',
    seenBy: STORES,
  },
  {
    name: 'other-body-replayed-in-flush',
    means: 'another body under the same new key in one commit is answered with the first job',
    file: 'src/engine/creation-batch.ts',
    find: `if (bodyHash !== idempotency.bodyHash) return refuse('idempotency_conflict'`,
    replace: `if (stored !== null && bodyHash !== idempotency.bodyHash) return refuse('idempotency_conflict'`,
    seenBy: STORES,
  },
  {
    name: 'conflict-replaced-by-replay',
    means: 'a refused body is answered with the jobs of the call that came with it',
    file: 'src/engine/creation-batch.ts',
    find: ` || first.bodyHash !== idempotency.bodyHash) return null;`,
    replace: `) return null;`,
    seenBy: STORES,
  },
  {
    name: 'idempotency-keys-shared',
    means: 'two callers that use the same key get each other’s jobs',
    file: 'src/store/reads/idempotency.ts',
    find: `from idempotency where principal = $1 and key = $2'`,
    replace: `from idempotency where (principal = $1 or true) and key = $2'`,
    seenBy: STORES,
  },
  {
    name: 'idempotency-not-remembered',
    means: 'a call that is repeated after a lost answer makes the job twice',
    file: 'src/engine/creation-batch.ts',
    find: `if (rows.length > 0) await this.#tx.idempotency.remember(rows);`,
    replace: `if (rows.length > 1) await this.#tx.idempotency.remember(rows);`,
    seenBy: STORES,
  },
];
