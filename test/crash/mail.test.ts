import { proofTest } from '../../proof/as-test.ts';
import { proveMail } from '../../proof/mail.ts';
import { freshSeed } from '../../proof/random.ts';

proofTest(
  'each message arrives once, in its order, while server and agents are killed [SC-11 SC-33 SC-68 SC-69 SC-70]',
  (store) => proveMail(store, { messages: 60, kills: 4, seed: freshSeed() }),
);
