/** Settles jobs that ended and have somebody waiting for it. */

import type { Core } from '../engine/core.ts';
import { settle } from '../engine/settling.ts';
import type { Duty } from './loop.ts';

const BATCH = 200;
const POLL_MS = 2_000;

export function settler(core: Core): Duty {
  return {
    name: 'settler',
    everyMs: POLL_MS,
    runOnce: async () => {
      const ended = await core.store.read.jobs.unsettled(BATCH);
      if (ended.length > 0) await settle(core, ended);
      return { done: ended.length, more: ended.length === BATCH };
    },
  };
}
