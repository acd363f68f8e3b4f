import { proofTest } from '../../proof/as-test.ts';
import { proveKill } from '../../proof/kill.ts';
import { freshSeed } from '../../proof/random.ts';

proofTest('loses and doubles nothing when the server is killed under load [SP-36 SP-37]', (store) =>
  proveKill(store, { kills: 5, seed: freshSeed(), restartLimitMs: 10_000 }),
);
