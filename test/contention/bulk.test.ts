import { proofTest } from '../../proof/as-test.ts';
import { proveBulk } from '../../proof/bulk.ts';

// A limit that a machine under many tests keeps too; the full proof measures against the real one.
proofTest(
  'does one thing to many jobs while others work on',
  (store) => proveBulk(store, { jobs: 600, limits: { p99Ms: 2_000 } }),
  // All of them share its one writer.
  ['sqlite'],
);
