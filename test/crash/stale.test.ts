import { proofTest } from '../../proof/as-test.ts';
import { proveStale } from '../../proof/stale.ts';

proofTest('refuses every late write of a worker that was frozen beyond its lease [SP-27 SP-36]', (store) =>
  proveStale(store, { workers: 2, jobsEach: 3, rounds: 4 }),
);
