import { waitingProofTest } from '../../proof/as-test.ts';
import { proveSchedules } from '../../proof/schedules.ts';

// The figures are those of `npm run proof schedules`; here only that everything starts, once, and soon.
waitingProofTest(
  'runs start by hand, along a chain, and together at one moment beside a slow agent [SC-02 SC-49]',
  (store) =>
    proveSchedules(store, {
      runs: 3,
      due: 15,
      agentMs: 30_000,
      many: 100,
      idleMs: 500,
      limits: {
        startMs: 5_000,
        approvedMs: 20_000,
        chainMs: 20_000,
        startsPerS: 1,
        growth: 100,
        idleShare: 1,
        idleMb: 200,
      },
    }),
);
