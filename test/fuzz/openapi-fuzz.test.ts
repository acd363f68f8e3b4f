import { proofTest } from '../../proof/as-test.ts';
import { proveOpenApiFuzz } from '../../proof/openapi-fuzz.ts';

proofTest(
  'answers requests made from its description as the description promises',
  (store) => proveOpenApiFuzz(store, { requests: 400, seed: 7 }),
  // What SQLite takes PostgreSQL may refuse; the doors are the same.
  ['postgres'],
);
