import { proveAsk } from '../../proof/ask.ts';
import { proofTest } from '../../proof/as-test.ts';

proofTest('jobs that ask go on once each while servers are killed, in one attempt [WK-43]', (store) =>
  proveAsk(store, { jobs: 20, kills: 3, seed: 11 }),
);
