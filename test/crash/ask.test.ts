import { proveAsk } from '../../proof/ask.ts';
import { proofTest } from '../../proof/as-test.ts';

proofTest(
  'jobs that ask go on once each while servers are killed, in one attempt [WK-43]',
  (store) => proveAsk(store, { jobs: 15, kills: 2, seed: 11 }),
  ['postgres'],
);
