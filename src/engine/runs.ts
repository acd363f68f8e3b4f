/** The history of what schedules made, and what workers write down about a run while it is under way. */

import { SpineError } from '../domain/error.ts';
import { mayTouch } from '../domain/lease.ts';
import type { RunRecord } from '../domain/run.ts';
import type { Core } from './core.ts';
import type { Runs } from './engine.ts';
import { priorRuns } from './prior-runs.ts';

const PAGE = 1_000;

export function runsOf(core: Core): Runs {
  const { store } = core;
  return {
    list: async (filter) => store.read.runs.list(filter),
    get: async (actor, id) => {
      const [found] = await store.read.runs.list({ ids: [id], limit: 1 });
      if (found === undefined) throw new SpineError('not_found', { id });
      if (!mayTouch(actor, found.job)) throw new SpineError('forbidden', { target: found.job.target });
      return found;
    },
    stale: (thresholdMs, limit) => staleRuns(core, core.now() - thresholdMs, limit),
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

/** The stale ones are among the oldest, and lists begin with the newest: all that run are looked at. */
async function staleRuns(core: Core, silentSince: number, limit: number): Promise<RunRecord[]> {
  const stale: RunRecord[] = [];
  let before: number | undefined;
  do {
    const from = before === undefined ? {} : { before };
    const page = await core.store.read.runs.list({ states: ['running'], limit: PAGE, ...from });
    stale.push(...page.filter(({ job, run }) => (run.lastHeartbeat ?? job.updatedAt) < silentSince));
    before = page.length < PAGE ? undefined : page.at(-1)?.job.no;
  } while (before !== undefined && stale.length < limit);
  return stale.slice(0, limit);
}
