import { proofTest } from '../../proof/as-test.ts';
import { proveKill } from '../../proof/kill.ts';
import { freshSeed } from '../../proof/random.ts';

// How quickly a server is back is measured by the proof, alone: here other tests may have the processors.
proofTest('loses and doubles nothing when the server is killed under load [SP-36 SP-37]', (store) =>
  proveKill(store, { kills: 3, seed: freshSeed(), restartLimitMs: 60_000 }),
);
