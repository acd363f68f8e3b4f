/** Jobs at the Spine door: create, list, read, and what people do to them. */

import type { Accepted, Actor } from '../../../domain/command.ts';
import { SpineError } from '../../../domain/error.ts';
import { inputOf } from '../../../domain/job-input.ts';
import type { Job } from '../../../domain/job.ts';
import { traceparentFrom } from '../../../domain/trace.ts';
import type { JobDraft } from '../../../engine/engine.ts';
import { tellOf } from '../../one-job.ts';
import { noteJobs } from '../../requests.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { AwaitedJob, Job as JobAnswer, JobBatch, JobList, JobRemoved } from './answers.ts';
import { inMs } from './job-fields.ts';
import { CHANGEABLE, JobChange, NewJob, type NewJobBody, NewJobs } from './new-job.ts';
import { CancelBody, CommentBody, CreateHeaders, GetQuery } from './schemas.ts';
import { goneSignal, refuseRevoked } from '../../gone.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { NoFields } from '../../fields.ts';
import { durationOf } from '../../times.ts';
import { idempotencyOf, REPLAYED } from '../../idempotency.ts';
import { jobId } from '../../job-id.ts';
import { ListQuery, listJobs } from './list.ts';
import { blockedField, briefJson, jobJson, onlyInput, outcomeOf, warningField } from './view.ts';

const EVERYONE = ['head', 'worker', 'viewer'] as const;
const MAKERS = ['head', 'worker'] as const;
const HEAD = ['head'] as const;

const ONLY_CHILDREN =
  'Only head makes jobs of their own; you may make children of the job that you hold: name it in parentId.';

/** What a call about one job can be told. */
const ABOUT_ONE = ['not_found', 'forbidden'] as const;
const MAKING = [
  'forbidden',
  'not_owner',
  'unique_key_taken',
  'idempotency_conflict',
  'too_many_children',
  'queue_full',
] as const;

export const jobRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/jobs',
    name: 'createJob',
    v0: true,
    load: 'job',
    about: 'Create a job. Workers may create children of a job they hold.',
    who: [...MAKERS, 'run'],
    admits: mayCreate,
    condition: ONLY_CHILDREN,
    headers: CreateHeaders,
    body: NewJob,
    status: 201,
    answer: JobAnswer,
    errors: MAKING,
    handle: async (call) => (await create(call, [call.body])).join(''),
  }),
  route({
    method: 'POST',
    path: '/jobs/batch',
    name: 'createJobs',
    load: 'job',
    about: 'Create up to 1,000 jobs, all or none.',
    who: MAKERS,
    admits: (actor, body) => actor.role === 'head' || areChildren(body),
    condition: ONLY_CHILDREN,
    headers: CreateHeaders,
    body: NewJobs,
    status: 201,
    answer: JobBatch,
    errors: MAKING,
    handle: async (call) => `{"jobs":[${(await create(call, call.body.jobs)).join(',')}]}`,
  }),
  route({
    method: 'GET',
    path: '/jobs',
    name: 'listJobs',
    v0: true,
    about: 'List jobs, filtered, searched and in pages. A worker sees its own targets.',
    who: EVERYONE,
    query: ListQuery,
    answer: JobList,
    handle: listJobs,
  }),
  route({
    method: 'GET',
    path: '/jobs/:id',
    name: 'getJob',
    v0: true,
    about: 'Read a job, by its id or its short number; with wait, when it has ended or the wait is over.',
    who: [...EVERYONE, 'run'],
    query: GetQuery,
    answer: AwaitedJob,
    errors: [...ABOUT_ONE, 'overloaded'],
    handle: get,
  }),
  route({
    method: 'PATCH',
    path: '/jobs/:id',
    name: 'changeJob',
    about: `Change what was asked for in a job that nobody holds and that has not ended: ${CHANGEABLE}.`,
    who: HEAD,
    body: JobChange,
    answer: JobAnswer,
    errors: [...ABOUT_ONE, 'conflict'],
    handle: async (call) =>
      answer(call, await call.engine.jobs.change(call.actor, await jobId(call), inMs(call.body))),
  }),
  route({
    method: 'DELETE',
    path: '/jobs/:id',
    name: 'removeJob',
    about: 'Remove a job that has ended, with its history, log and artifacts.',
    who: HEAD,
    answer: JobRemoved,
    errors: [...ABOUT_ONE, 'conflict'],
    handle: async (call) => {
      const id = await jobId(call);
      await call.engine.jobs.remove(call.actor, id);
      return { id, removed: true };
    },
  }),
  route({
    method: 'POST',
    path: '/jobs/:id/comment',
    name: 'commentJob',
    v0: true,
    about: 'Add a comment to a job.',
    who: [...MAKERS, 'run'],
    body: CommentBody,
    answer: JobAnswer,
    errors: [...ABOUT_ONE, 'conflict'],
    handle: async (call) =>
      answer(call, await call.engine.jobs.comment(call.actor, await jobId(call), call.body.text)),
  }),
  route({
    method: 'POST',
    path: '/jobs/:id/cancel',
    name: 'cancelJob',
    about: 'End a job and its children; running work learns of it by cancelRequested.',
    who: HEAD,
    body: CancelBody,
    answer: JobAnswer,
    errors: [...ABOUT_ONE, 'conflict'],
    handle: async (call) =>
      answer(call, await call.engine.jobs.cancel(call.actor, await jobId(call), call.body.reason ?? null)),
  }),
  route({
    method: 'POST',
    path: '/jobs/:id/retry',
    name: 'retryJob',
    about: 'Open an ended job again.',
    who: HEAD,
    body: NoFields,
    answer: JobAnswer,
    errors: [...ABOUT_ONE, 'conflict', 'unique_key_taken'],
    handle: async (call) => answer(call, await call.engine.jobs.retry(call.actor, await jobId(call))),
  }),
  route({
    method: 'POST',
    path: '/jobs/:id/redrive',
    name: 'redriveJob',
    about: 'Give a dead job all its attempts again.',
    who: HEAD,
    body: NoFields,
    answer: JobAnswer,
    errors: [...ABOUT_ONE, 'conflict', 'unique_key_taken'],
    handle: async (call) => answer(call, await call.engine.jobs.redrive(call.actor, await jobId(call))),
  }),
];

async function get(call: Call<unknown, { readonly wait?: string }>): Promise<string> {
  const { engine, actor, query } = call;
  const id = await jobId(call);
  if (query.wait === undefined) return fullJson(call, await engine.jobs.get(actor, id), { done: false });
  const waitMs = durationOf(query.wait, 'wait', LIMITS.readWaitMs);
  if (waitMs > 0) call.request.waited = true;
  const gone = goneSignal(call);
  const { job, ended, lastId } = await engine.jobs.wait(actor, id, waitMs, gone);
  refuseRevoked(gone);
  const last = lastId === job.id ? '' : `,"lastOfLineage":${JSON.stringify(lastId)}`;
  return fullJson(call, job, { done: false, extra: `,"ended":${ended}${last}` });
}

/** Whoever knows the job already may say so (RFC 7240), and is spared reading it again. */
export function wantsLittle({ request }: Pick<Call, 'request'>): boolean {
  const { prefer } = request.headers;
  return typeof prefer === 'string' && /(^|[,;\s])return=minimal($|[,;\s])/i.test(prefer);
}

/** The end of a job, as little or as much of it as the caller wants. */
export async function endAnswer(call: Call, accepted: Accepted): Promise<string> {
  return wantsLittle(call) ? briefJson(accepted) : await answer(call, accepted);
}

/** The whole job after a verb, as v0 answers every one of them. */
export async function answer(call: Call, accepted: Accepted, extra = ''): Promise<string> {
  return await fullJson(call, accepted.job, { done: true, extra: outcomeOf(accepted) + extra });
}

async function fullJson(
  call: Call,
  job: Job,
  { done, extra = '' }: { readonly done: boolean; readonly extra?: string },
): Promise<string> {
  const further = blockedField(call.parts, job) + extra;
  const told = await tellOf(call, job, { done }, (details) => jobJson(job, details, further));
  if (told === null) throw new SpineError('not_found');
  return told;
}

/** A worker has no right to create work of its own, only children of a job that it holds; a run, of its own job. */
function mayCreate(actor: Actor, body: unknown): boolean {
  if (actor.role === 'head') return true;
  return isChild(body) && (actor.onlyJob === undefined || body.parentId === actor.onlyJob);
}

function isChild(body: unknown): body is { parentId: string } {
  return typeof (body as { parentId?: unknown } | null)?.parentId === 'string';
}

function areChildren(body: unknown): boolean {
  const jobs = (body as { jobs?: unknown } | null)?.jobs;
  return Array.isArray(jobs) && jobs.every(isChild);
}

async function create(call: Call, bodies: readonly NewJobBody[]): Promise<string[]> {
  const { engine, actor, reply } = call;
  const traceparent = traceparentFrom(call.request.headers.traceparent);
  const drafts = bodies.map((body, index) => {
    const draft = draftOf(body, bodies.length > 1 ? `jobs[${index}].` : '');
    return traceparent === null ? draft : { traceparent, ...draft };
  });
  const { jobs, replayed } = await engine.jobs.create(actor, drafts, idempotencyOf(call));
  noteJobs(call.request, jobs);
  const told = (job: Job): string => blockedField(call.parts, job) + warningField(call.parts, job);
  if (replayed) reply.header(REPLAYED, 'true');
  if (replayed || drafts.some(({ parentId }) => parentId !== undefined)) {
    const details = await engine.jobs.details(jobs);
    return jobs.flatMap((job) => {
      const known = details.get(job.no);
      return known ? [jobJson(job, known, told(job))] : [];
    });
  }
  // What was just written need not be read back.
  return jobs.map((job, index) =>
    jobJson(job, onlyInput(inputOf(bodies[index] ?? {}), bodies[index]?.type ?? null), told(job)),
  );
}

function draftOf({ queue, target, after, ...rest }: NewJobBody, prefix: string): JobDraft {
  if (queue !== undefined && target !== undefined && queue !== target) {
    const message = `${prefix}queue and ${prefix}target mean the same and must not differ.`;
    throw new SpineError('bad_request', { field: `${prefix}queue` }, { message });
  }
  return {
    ...inMs(rest, prefix),
    target: target ?? queue ?? 'left-claw',
    ...(after !== undefined && { after: after.map((one) => (typeof one === 'string' ? { job: one } : one)) }),
  };
}
