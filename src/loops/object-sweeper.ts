/**
 * Removes the data of tasks that are gone, and what a server left that died before it could record it. Their rows stay until
 * their objects are removed, so that none is forgotten.
 */

import { loopActor } from '../domain/actor.ts';
import type { Core } from '../engine/core.ts';
import type { ObjectStore } from '../objects/objects.ts';
import type { Duty } from './loop.ts';

const SWEEPER = loopActor('object-sweeper');
const BATCH = 50;
/** A storage that fails so often in one pass is left alone until the next. */
const FAILURES = 3;
/** Bytes may still be on their way: longer than a storage may be given to answer. */
const ON_THEIR_WAY_MS = 900_000;

export function objectSweeper(core: Core, objects: ObjectStore, everyMs: number): Duty {
  return {
    name: 'object-sweeper',
    everyMs,
    runOnce: async () => {
      const keys = await core.store.read.taskData.forgotten(core.now() - ON_THEIR_WAY_MS, BATCH);
      if (keys.length === 0) return { done: 0, more: false };
      const { removed, failed, problem } = await removeAll(objects, keys);
      await core.flusher.transact(SWEEPER, async (tx, { now }) => {
        await tx.taskData.drop(removed);
        // So that one which cannot be removed does not stand before the others for ever.
        await tx.taskData.putOff(failed, now);
      });
      if (removed.length === 0) throw problem;
      return { done: removed.length, more: keys.length === BATCH && failed.length === 0 };
    },
  };
}

async function removeAll(objects: ObjectStore, keys: readonly string[]) {
  const removed: string[] = [];
  const failed: string[] = [];
  let problem: unknown = null;
  for (const key of keys) {
    if (failed.length === FAILURES) break;
    try {
      await objects.remove(key);
      removed.push(key);
    } catch (error) {
      problem ??= error;
      failed.push(key);
    }
  }
  return { removed, failed, problem };
}
