/** Turns time into jobs. A precise timer waits for the next due moment; the tick is the safety net. */

import type { Core } from '../engine/core.ts';
import { fireDue } from '../engine/due-schedules.ts';
import type { Duty } from './loop.ts';

/** Schedules in one transaction. */
const BATCH = 100;

export function scheduler(core: Core, tickMs: number): Duty {
  return {
    name: 'scheduler',
    everyMs: tickMs,
    runOnce: async () => {
      const done = await fireDue(core, BATCH);
      if (done === BATCH) return { done, more: true };
      const nextAt = await core.store.read.schedules.nextAt();
      // One that another server is firing right now is due still: it is looked at again soon, not at once.
      const nextInMs = nextAt === null ? null : Math.max(done > 0 ? 0 : SOON_MS, nextAt - core.now());
      return { done, more: false, nextInMs };
    },
  };
}

const SOON_MS = 5;
