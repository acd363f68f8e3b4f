/** Removes the data of tasks that are gone. Their rows stay until their objects are removed, so that none is forgotten. */

import { loopActor } from '../domain/actor.ts';
import type { Core } from '../engine/core.ts';
import type { ObjectStore } from '../objects/objects.ts';
import type { Duty } from './loop.ts';

const SWEEPER = loopActor('object-sweeper');
const BATCH = 50;

export function objectSweeper(core: Core, objects: ObjectStore, everyMs: number): Duty {
  return {
    name: 'object-sweeper',
    everyMs,
    runOnce: async () => {
      const keys = await core.store.read.taskData.forgotten(BATCH);
      if (keys.length === 0) return { done: 0, more: false };
      for (const key of keys) await objects.remove(key);
      await core.flusher.transact(SWEEPER, async (tx) => tx.taskData.drop(keys));
      return { done: keys.length, more: keys.length === BATCH };
    },
  };
}
