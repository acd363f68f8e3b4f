import { proofTest } from '../../proof/as-test.ts';
import { proveRetries } from '../../proof/retries.ts';

proofTest(
  'each failed task has one retry, never above its number, while servers are killed and a slow model is asked [TQ-23 TQ-34]',
  (store) => proveRetries(store, { tasks: 12, kills: 6, modelMs: 300, seed: 5 }),
  // The proof has two servers on PostgreSQL besides, which take twice as long to come back.
  ['sqlite'],
);
