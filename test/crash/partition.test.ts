import { proofTest } from '../../proof/as-test.ts';
import { provePartition } from '../../proof/partition.ts';

proofTest(
  'loses nothing and answers in time while the network to the database breaks',
  (store) => provePartition(store, { faults: 4, seed: 7 }),
  ['postgres'],
);
