import { waitingProofTest } from '../../proof/as-test.ts';
import { proveRetries } from '../../proof/retries.ts';

waitingProofTest(
  'each failed task has one retry, never above its number, while servers are killed and a slow model is asked [TQ-23 TQ-34]',
  (store) => proveRetries(store, { tasks: 12, kills: 6, modelMs: 300, seed: 5 }),
);
