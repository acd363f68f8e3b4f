/** Moves what waits for a moment in time: delayed jobs become ready, jobs that nobody took in time end, attempts that ran too long end, questions too. */

import { loopActor } from '../domain/actor.ts';
import type { Core } from '../engine/core.ts';
import { timeOutQuestion } from '../engine/questions.ts';
import type { Duty, Pass } from './loop.ts';

const TIMERS = loopActor('timers');

const BATCH = 500;
const POLL_MS = 5_000;

/** While nobody is judged by the clock, what is overdue stays so: no reason to look all the time. */
const GRACE_POLL_MS = 100;

/**
 * `graceMs` says how long no attempt may be ended for its time, and no question for want of an answer: a server that was
 * away owes its callers that long.
 */
export function timers(core: Core, graceMs: (now: number) => number): Duty {
  return {
    name: 'timers',
    everyMs: POLL_MS,
    runOnce: async (): Promise<Pass> => {
      const now = core.now();
      const due = await core.store.read.jobs.due(now, BATCH);
      const lapsed = await core.store.read.jobs.lapsed(now, BATCH);
      const inGrace = graceMs(now) > 0;
      const late = inGrace ? [] : await core.store.read.leases.timedOut(now, BATCH);
      const unanswered = inGrace ? [] : await core.store.read.questions.expired(now, BATCH);
      await Promise.all([
        ...due.map((id) => core.perform({ kind: 'admit', id, actor: TIMERS })),
        ...lapsed.map((id) => core.perform({ kind: 'lapse', id, actor: TIMERS })),
        ...late.map((id) => core.perform({ kind: 'timeout', id, actor: TIMERS })),
        ...unanswered.map((id) => timeOutQuestion(core, id)),
      ]);
      const more = [due, lapsed, late, unanswered].some(({ length }) => length === BATCH);
      const nextAt = more ? null : await core.store.read.jobs.nextDueAt();
      const soonestMs = inGrace ? GRACE_POLL_MS : 0;
      const nextInMs = nextAt === null ? null : Math.max(soonestMs, nextAt - core.now());
      return { done: due.length + lapsed.length + late.length + unanswered.length, more, nextInMs };
    },
  };
}
