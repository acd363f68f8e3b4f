import { proofTest } from '../../proof/as-test.ts';
import { proveWaiters } from '../../proof/waiters.ts';

// Limits that a machine under many tests keeps too; the full proof measures against the real ones.
const limits = { coreShare: 0.25, latencyMs: 2_000, acrossMs: 2_000 };

proofTest('hands work to waiting claimers at once and each job to one of them', (store) =>
  proveWaiters(store, { workers: 30, jobs: 200, samples: 10, idleMs: 1_000, limits }),
);
