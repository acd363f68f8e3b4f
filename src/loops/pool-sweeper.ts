/** The safety net of the pools: a waiter that stepped aside just as the last slot was freed is found here. */

import { loopActor } from '../domain/actor.ts';
import type { Core } from '../engine/core.ts';
import type { Duty } from './loop.ts';

const POOLS = loopActor('pools');

const BATCH = 100;
const POLL_MS = 1_000;

export function poolSweeper(core: Core): Duty {
  return {
    name: 'pools',
    everyMs: POLL_MS,
    runOnce: async () => {
      const pools = await core.store.read.pools.withRoomAndWaiters(BATCH);
      for (const pool of pools)
        await core.flusher.transact(POOLS, (tx, changeSet) => changeSet.requeueWaiters(tx, pool, BATCH));
      return { done: pools.length, more: false };
    },
  };
}
