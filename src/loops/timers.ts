/** Moves what waits for a moment in time: delayed jobs become ready, attempts that ran too long end. */

import { SYSTEM } from '../domain/actor.ts';
import type { Core } from '../engine/core.ts';
import type { Duty, Pass } from './loop.ts';

const BATCH = 500;
const POLL_MS = 5_000;

export function timers(core: Core): Duty {
  return {
    name: 'timers',
    everyMs: POLL_MS,
    runOnce: async (): Promise<Pass> => {
      const now = core.now();
      const due = await core.store.read.due(now, BATCH);
      const late = await core.store.read.timedOut(now, BATCH);
      await Promise.all([
        ...due.map((id) => core.perform({ kind: 'admit', id, actor: SYSTEM })),
        ...late.map((id) => core.perform({ kind: 'timeout', id, actor: SYSTEM })),
      ]);
      const more = due.length === BATCH || late.length === BATCH;
      const nextAt = more ? null : await core.store.read.nextDueAt();
      return { done: due.length + late.length, more, nextInMs: nextAt === null ? null : nextAt - core.now() };
    },
  };
}
