import { proofTest } from '../../proof/as-test.ts';
import { proveOpenApiFuzz } from '../../proof/openapi-fuzz.ts';
import { freshSeed } from '../../proof/random.ts';

proofTest(
  'answers requests made from its description as the description promises',
  (store) => proveOpenApiFuzz(store, { requests: 400, seed: freshSeed() }),
  // What SQLite takes PostgreSQL may refuse; the doors are the same.
  ['postgres'],
);
