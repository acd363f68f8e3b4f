/** Makes the jobs that running jobs asked for by message. */

import type { Core } from '../engine/core.ts';
import { spawnNext } from '../engine/spawning.ts';
import type { Duty } from './loop.ts';

const BATCH = 100;

export function spawner(core: Core, everyMs: number): Duty {
  return {
    name: 'spawner',
    everyMs,
    runOnce: async () => {
      let done = 0;
      while (done < BATCH && (await spawnNext(core))) done += 1;
      return { done, more: done === BATCH };
    },
  };
}
