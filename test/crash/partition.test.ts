import { proofTest } from '../../proof/as-test.ts';
import { provePartition } from '../../proof/partition.ts';

// Beside other tests time says little: the full proof measures against the real limits.
proofTest(
  'loses nothing and answers in time while the network to the database breaks',
  (store) => provePartition(store, { faults: 4, seed: 7, slower: 3 }),
  ['postgres'],
);
