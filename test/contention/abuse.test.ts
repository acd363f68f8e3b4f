import { proveAbuse } from '../../proof/abuse.ts';
import { proofTest } from '../../proof/as-test.ts';

// Small and short: here no lease may be lost, whatever else the machine has to do. How long heartbeats take is measured by the proof.
proofTest(
  'others go on with their work, whichever way one principal tries to hold them up',
  (store) =>
    proveAbuse(store, {
      connections: 40,
      forMs: 300,
      workers: 5,
      creators: 2,
      limits: { heartbeatP99Ms: 20_000, memoryMb: 500 },
    }),
  // There one caller's locks can hold up another's, too.
  ['postgres'],
);
