/** Jobs as people and doors handle them: create, look, comment, cancel, reopen. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import type { ListFilter } from '../domain/job-filter.ts';
import type { Job } from '../domain/job.ts';
import { mayTouch, serves } from '../domain/lease.ts';
import { cancelWithBelow } from './cancelling.ts';
import { withinParents } from './children.ts';
import { accepted, type Core } from './core.ts';
import { handedOn } from './handed-on.ts';
import { waitingFor } from './job-end.ts';
import { JobDrafts } from './job-drafts.ts';
import type { JobFilter, Jobs } from './engine.ts';
import { withWholeIds } from './named-by-number.ts';
import { changeJob, removeEnded } from './steering.ts';

export function jobsOf(core: Core): Jobs {
  const { store } = core;
  const jobDrafts = new JobDrafts(core);

  const get = async (actor: Actor, id: string): Promise<Job> => {
    const job = /^\d{1,15}$/.test(id)
      ? (await store.read.jobs.byNo([Number(id)])).at(0)
      : await store.read.jobs.byId(id);
    if (!job) throw new SpineError('not_found', { id });
    if (!mayTouch(actor, job)) throw new SpineError('forbidden', { target: job.target });
    return job;
  };

  return {
    get,
    idsOf: async (actor, numbers) => {
      const named = await store.read.jobs.named([...new Set(numbers.map(Number))]);
      const byNo = new Map(named.map((job) => [job.no, job]));
      return new Map(numbers.map((id) => [id, idSeenBy(actor, id, byNo.get(Number(id)))]));
    },
    wait: waitingFor(core, get),
    create: async (actor, drafts, idempotency) => {
      refuseWhenFull(core, drafts.length);
      const whole = await withWholeIds(core, actor, drafts);
      const jobs = await jobDrafts.complete(actor, await withinParents(core, actor, whole));
      const key = idempotency === undefined ? null : { principal: actor.name, ...idempotency };
      const answer = accepted(await core.flusher.submit({ kind: 'create', actor, jobs, idempotency: key }));
      return { jobs: answer.jobs, replayed: answer.replayed };
    },
    details: async (jobs) => store.read.details.of(jobs),
    smallDetails: async (jobs) => store.read.details.ofSmall(jobs),
    sizes: async (jobs) => store.read.details.sizes(jobs),
    handedOn: (jobs) => handedOn(store.read, jobs),
    comments: async (actor, id, afterSeq, limit) =>
      store.read.comments.after((await get(actor, id)).no, afterSeq, limit),
    list: async (actor, filter) => store.read.jobs.list(await storedFilter(core, actor, filter)),
    look: async (actor, filter) => store.read.jobs.look(await storedFilter(core, actor, filter)),
    blockers: async (jobs) => {
      const waiting = jobs.filter(({ waitingFor }) => waitingFor > 0).map(({ no }) => no);
      const edges = waiting.length === 0 ? [] : await store.read.dependencies.of(waiting);
      const open = Map.groupBy(
        edges.filter(({ met }) => !met),
        ({ jobNo }) => jobNo,
      );
      return new Map([...open].map(([no, of]) => [no, of.map(({ parentId }) => parentId)]));
    },
    search: async (actor, words, filter) =>
      store.read.jobs.search(words, await storedFilter(core, actor, filter)),
    events: async (actor, id, afterSeq, limit) =>
      store.read.feed.ofJob((await get(actor, id)).no, afterSeq, limit),
    logs: async (actor, id, afterNo, limit) =>
      store.read.logs.after((await get(actor, id)).no, afterNo, limit),
    feed: async (after, limit) => store.read.feed.after(after, limit),
    feedEnd: async () => store.read.feed.end(),
    comment: (actor, id, text) => core.perform({ kind: 'comment', actor, id, text }),
    cancel: (actor, id, reason) => cancelWithBelow(core, { kind: 'cancel', id, actor, reason }),
    retry: (actor, id) => core.perform({ kind: 'retry', actor, id }),
    redrive: (actor, id) => core.perform({ kind: 'redrive', actor, id }),
    change: async (actor, id, change) => changeJob(core, actor, await get(actor, id), change),
    remove: async (actor, id) => removeEnded(core, actor, await get(actor, id)),
    snooze: (actor, id, untilAt, leaseToken, received) =>
      core.perform({ kind: 'snooze', actor, id, untilAt, leaseToken, ...(received && { received }) }),
  };
}

export async function storedFilter(
  core: Core,
  actor: Actor,
  { type, ...filter }: JobFilter,
): Promise<ListFilter> {
  return {
    ...filter,
    targets: targetsOf(actor, filter),
    typeNo: type === undefined ? null : ((await core.types()).get(type)?.no ?? -1),
    tag: filter.tag ?? null,
    from: filter.from ?? null,
  };
}

function idSeenBy(
  actor: Actor,
  id: string,
  job: Pick<Job, 'id' | 'target'> | undefined,
): string | SpineError {
  if (job === undefined) return new SpineError('not_found', { id });
  return mayTouch(actor, job) ? job.id : new SpineError('forbidden', { target: job.target });
}

export function refuseWhenFull(core: Core, more: number): void {
  const { maxUnfinishedJobs: limit } = core.settings;
  if (core.unfinished + more > limit) throw new SpineError('queue_full', { limit, retryAfterS: 5 });
}

/** An actor sees its own targets; asking for others shows nothing rather than something else. */
function targetsOf(actor: Actor, filter: JobFilter): readonly string[] | null {
  if (filter.target === undefined) return actor.targets;
  return serves(actor, filter.target) ? [filter.target] : [];
}
