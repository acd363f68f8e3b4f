import { proofTest } from '../../proof/as-test.ts';
import { proveFeed } from '../../proof/feed.ts';
import { freshSeed } from '../../proof/random.ts';

// Beside other tests memory says little: the full proof measures against the real limit.
const small = { jobs: 40, stalled: 20, unreadMb: 1, stalledLimitMb: 256, settleMs: 300 };

proofTest(
  'shows every event once and in order to readers that are cut off',
  (store) => proveFeed(store, { ...small, servers: 1, seed: freshSeed() }),
  ['sqlite'],
);

proofTest(
  'shows every event once and in order over three servers that are killed to readers that are cut off',
  (store) => proveFeed(store, { ...small, servers: 3, seed: freshSeed() }),
  ['postgres'],
);
