import { proofTest } from '../../proof/as-test.ts';
import { proveRecovery } from '../../proof/recovery.ts';

// The promise is 15 seconds, which the proof measures alone. Leases take 30: within this limit it is not they that ran out.
proofTest(
  'runs of a dead server are taken over by the one in its place and by another [SC-27 SC-59]',
  (store) => proveRecovery(store, { limitMs: 24_000 }),
  ['postgres'],
);
