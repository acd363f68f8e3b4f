import { proofTest } from '../../proof/as-test.ts';
import { proveKill } from '../../proof/kill.ts';
import { freshSeed } from '../../proof/random.ts';

proofTest('stops in good order under load, within ten seconds', (store) =>
  proveKill(store, { kills: 3, seed: freshSeed(), restartLimitMs: 60_000, how: 'SIGTERM' }),
);
