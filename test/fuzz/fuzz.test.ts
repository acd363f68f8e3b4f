import { proofTest } from '../../proof/as-test.ts';
import { proveFuzz } from '../../proof/fuzz.ts';

proofTest('answers hostile requests with a refusal and stays up [SP-07]', (store) =>
  proveFuzz(store, { requests: 300, seed: 7 }),
);
