/** Settles jobs that ended and have somebody waiting for it. */

import type { Core } from '../engine/core.ts';
import { settle } from '../engine/settling.ts';
import type { Duty } from './loop.ts';

const BATCH = 200;
const POLL_MS = 2_000;

export function settler(core: Core): Duty {
  const { lanes } = core.store;
  return {
    name: 'settler',
    everyMs: POLL_MS,
    runOnce: async () => {
      const ended = await core.store.read.unsettled(BATCH);
      // As many at once as can commit at once: more would only stand before everybody else in line.
      for (let i = 0; i < ended.length; i += lanes)
        await Promise.all(ended.slice(i, i + lanes).map((no) => settle(core, no)));
      return { done: ended.length, more: ended.length === BATCH };
    },
  };
}
