import { proveAbuse } from '../../proof/abuse.ts';
import { proofTest } from '../../proof/as-test.ts';

// Small and short; what a heartbeat may take leaves room for a busy machine. The proof measures.
proofTest(
  'others go on with their work, whichever of twelve ways one principal tries to hold them up',
  (store) =>
    proveAbuse(store, {
      connections: 40,
      forMs: 700,
      workers: 5,
      creators: 2,
      limits: { heartbeatP99Ms: 2_500, memoryMb: 500 },
    }),
);
