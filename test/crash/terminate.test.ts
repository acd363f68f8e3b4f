import { proofTest } from '../../proof/as-test.ts';
import { proveKill } from '../../proof/kill.ts';
import { freshSeed } from '../../proof/random.ts';

// How long that may take is measured by the proof, alone: here other tests may have the processors.
const slow = { restartLimitMs: 60_000, stopLimitMs: 60_000 };

proofTest(
  'stops in good order under load',
  (store) => proveKill(store, { ...slow, kills: 3, seed: freshSeed(), how: 'SIGTERM' }),
  // More is to be left behind in order than with PostgreSQL: the database itself and the journal.
  ['sqlite'],
);
