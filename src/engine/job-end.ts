/** Waiting until a job has ended for good: its own end or, where it is retried by new jobs, that of the last of them. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { isFinal, type Job, rootOf, SETTLED } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import { wasRetried } from '../domain/retry.ts';
import type { Core } from './core.ts';
import { EndWatch } from './end-watch.ts';
import type { Awaited, Jobs } from './engine.ts';

export function waitingFor(core: Core, get: Jobs['get']): Jobs['wait'] {
  return async (actor, id, waitMs, signal) => {
    const first = await looked(core, actor, id, get);
    if (first.ended || waitMs <= 0 || core.stopping) return first;
    if (core.ends.size >= LIMITS.waitingReaders) throw new SpineError('overloaded', { retryAfterS: 1 });
    const root = rootOf(first.job);
    const endsAt = core.now() + waitMs;
    const waiter = core.ends.enter(root);
    try {
      // Who ends it on another server must know that somebody waits here.
      if (core.store.dialect === 'postgres') await core.announce([EndWatch.awaited(root)]);
      for (;;) {
        waiter.woken = false;
        const seen = await looked(core, actor, id, get);
        const leftMs = endsAt - core.now();
        if (seen.ended || leftMs <= 0 || core.stopping || signal?.aborted) return seen;
        await core.ends.wait(waiter, leftMs, signal);
      }
    } finally {
      core.ends.leave(root, waiter);
    }
  };
}

async function looked(core: Core, actor: Actor, id: string, get: Jobs['get']): Promise<Awaited> {
  const job = await get(actor, id);
  const last = await lastOf(core.store.read, job);
  // A lineage whose later members are forgotten has long ended.
  const forgotten = last.no === job.no && wasRetried(job) && job.settled === SETTLED;
  const ended = isFinal(last.state) && last.settled === SETTLED && (forgotten || !wasRetried(last));
  return { job, ended, lastId: last.id };
}

async function lastOf(read: Core['store']['read'], job: Job): Promise<Job> {
  if (job.rootNo === null && !wasRetried(job)) return job;
  return (await read.jobs.newestOfLineage(rootOf(job))) ?? job;
}
