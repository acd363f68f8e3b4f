/** The history of what schedules made, and what workers write down about a run while it is under way. */

import { SpineError } from '../domain/error.ts';
import { mayTouch } from '../domain/lease.ts';
import type { Core } from './core.ts';
import type { Runs } from './engine.ts';
import { priorRuns } from './prior-runs.ts';

export function runsOf(core: Core): Runs {
  const { store } = core;
  return {
    list: async (filter) => store.read.runs.list(filter),
    look: async (filter) => store.read.runs.look(filter),
    get: async (actor, id) => {
      const [found] = await store.read.runs.list({ ids: [id], limit: 1 });
      if (found === undefined) throw new SpineError('not_found', { id });
      if (!mayTouch(actor, found.job)) throw new SpineError('forbidden', { target: found.job.target });
      return found;
    },
    stale: async (thresholdMs, limit) => store.read.runs.silent(core.now() - thresholdMs, limit),
    of: async (jobNo) => (await store.read.runs.byNo([jobNo])).at(0) ?? null,
    // Only the holder may write, so that one who lost its lease cannot mislead the next.
    note: async (actor, id, leaseToken, note) =>
      void (await core.perform({ kind: 'note', actor, id, leaseToken, note })),
    prompt: async (jobNo) => store.read.runs.prompt(jobNo),
    prior: (actor, jobNo, wanted) => priorRuns(core, actor, jobNo, wanted),
    cancelRequested: async (nos) => {
      const jobs = await store.read.jobs.byNo(nos);
      return jobs.filter((job) => job.cancelRequested).map((job) => job.id);
    },
  };
}
