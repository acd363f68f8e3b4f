import { proofTest } from '../../proof/as-test.ts';
import { proveContention } from '../../proof/contention.ts';

proofTest(
  'lets one of ten claimers win each job: one winner [SP-19 SP-38]',
  (store) => proveContention(store, { rounds: 5, jobs: 50, servers: 1 }),
  ['sqlite'],
);

proofTest(
  'lets one of ten claimers win over three servers: one winner [SP-19 SP-38]',
  (store) => proveContention(store, { rounds: 5, jobs: 50, servers: 3 }),
  ['postgres'],
);
