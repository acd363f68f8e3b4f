/** A job as the Spine door shows it: v0's fields always, native ones when they are set. */

import type { Accepted } from '../../domain/command.ts';
import type { JobEvent } from '../../domain/event.ts';
import type { Job, JobDetails, JobInput } from '../../domain/job.ts';
import { WORDS } from '../../domain/words.ts';
import { iso, withIsoTimes } from '../times.ts';

/** Details of a job that has nothing but its input: new, or claimed for the first time. */
export function onlyInput(input: JobInput, typeName: string | null): JobDetails {
  return { input, result: null, error: null, comments: [], typeName, retryOfId: null, parentId: null };
}

/** Stored JSON is pasted in as it is: a large spec is neither parsed nor printed again. */
export function jobJson(job: Job, details: JobDetails, extra?: object): string {
  const always = JSON.stringify(shownAlways(job, details));
  const sometimes = JSON.stringify(shownWhenSet(job, details));
  return `${always.slice(0, -1)}${fieldsOf(sometimes)}${extra ? fieldsOf(JSON.stringify(extra)) : ''}${storedJson(job, details)}}`;
}

/** `{"a":1}` becomes `,"a":1`. */
function fieldsOf(object: string): string {
  return object === '{}' ? '' : `,${object.slice(1, -1)}`;
}

function shownAlways(job: Job, { input, comments }: JobDetails): object {
  return {
    id: job.id,
    no: job.no,
    target: job.target,
    status: WORDS[job.state].spine,
    state: job.state,
    createdAt: iso(job.createdAt),
    updatedAt: iso(job.updatedAt),
    createdBy: job.createdBy,
    claimedBy: job.claimedBy,
    leaseUntil: isoOrNull(job.leaseUntil),
    attempts: job.attempts,
    maxAttempts: job.maxAttempts,
    comments: comments.map(({ at, by, text }) => ({ t: iso(at), by, text })),
    priority: job.priority,
    leaseMs: job.leaseMs,
    tags: input.tags,
  };
}

/** What most jobs do not have; `undefined` is left out when printed. */
function shownWhenSet(job: Job, { input, typeName, retryOfId, parentId }: JobDetails): object {
  return {
    type: typeName ?? undefined,
    title: input.title ?? undefined,
    description: input.description ?? undefined,
    runAt: job.runAt > job.createdAt ? iso(job.runAt) : undefined,
    finishedAt: job.finishedAt === null ? undefined : iso(job.finishedAt),
    timeoutMs: job.timeoutMs ?? undefined,
    retry: retryOf(job),
    retryOf: retryOfId ?? undefined,
    retryAt: job.retryAt === null ? undefined : iso(job.retryAt),
    uniqueKey: job.uniqueKey ?? undefined,
    pool: job.pool ?? undefined,
    concurrencyKey: job.concurrencyKey ?? undefined,
    blockedOn: job.blockedOn ?? undefined,
    waitingFor: job.waitingFor || undefined,
    parentId: parentId ?? undefined,
    scheduleId: job.scheduleId ?? undefined,
    approval: job.approval === 'none' ? undefined : job.approval,
    cause: job.cause ?? undefined,
    cancelRequested: job.cancelRequested || undefined,
    reason: job.reason ?? undefined,
    releaseReason: job.state === 'cancelled' || job.cancelRequested ? undefined : (job.reason ?? undefined),
  };
}

function retryOf(job: Job): object | undefined {
  if (job.retryMode === 'requeue' && job.backoffMs === 0) return undefined;
  return { mode: job.retryMode, max: job.retryMax, backoffMs: job.backoffMs, count: job.retryCount };
}

/** v0 shows a job without a spec as an empty text, and one without meta as an empty object. */
function storedJson(job: Job, { input, result, error }: JobDetails): string {
  let text = `,"spec":${input.spec ?? '""'},"meta":${input.meta ?? '{}'},"result":${result ?? 'null'},"error":${error ?? 'null'}`;
  if (input.params !== null) text += `,"params":${input.params}`;
  if (input.budget !== null) text += `,"budget":${input.budget}`;
  if (job.progress !== null) text += `,"progress":${job.progress}`;
  return text;
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}

/** What only the holder of the lease may see. */
export function forHolder(job: Job): object {
  return { leaseToken: job.leaseToken, attempt: job.attempts };
}

/** A repeated call says how the first one ended. */
export function outcomeOf({ repeated }: Accepted): object | undefined {
  return repeated && { outcome: { verb: repeated.verb, status: WORDS[repeated.state].spine } };
}

/** For whoever has the job already: which one it is, and what became of it. */
export function briefJson(accepted: Accepted): string {
  const { id, no, state } = accepted.job;
  return JSON.stringify({ id, no, status: WORDS[state].spine, state, ...outcomeOf(accepted) });
}

export function eventView({ seq, at, kind, by, facts }: JobEvent): object {
  const fixed = { seq, t: iso(at), type: kind, by };
  return { ...fixed, ...withIsoTimes(facts ?? {}), ...fixed };
}
