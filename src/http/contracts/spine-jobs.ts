/** Jobs at the Spine door: create, list, read, and what people do to them. */

import type { Accepted, Actor } from '../../domain/command.ts';
import { SpineError } from '../../domain/error.ts';
import type { Job, JobInput } from '../../domain/job.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Engine, IdempotencyKey, JobDraft } from '../../engine/engine.ts';
import { type Call, row, type Row } from '../routes.ts';
import { Job as JobAnswer, JobBatch, JobComments, JobEvents, JobList } from '../answers.ts';
import {
  CancelBody,
  CommentBody,
  CreateHeaders,
  ListQuery,
  NewJob,
  type NewJobBody,
  NewJobs,
  NoFields,
  PageQuery,
} from '../schemas.ts';
import { pageOf } from '../page.ts';
import { iso, timeOf } from '../times.ts';
import { listJobs } from './spine-list.ts';
import { briefJson, eventView, jobJson, onlyInput, outcomeOf } from './spine-view.ts';

const EVERYONE = ['head', 'worker', 'viewer'] as const;
const MAKERS = ['head', 'worker'] as const;
const HEAD = ['head'] as const;
const PAGE = 1_000;
/** What an event or a comment takes beside what it says. */
const EVENT_BYTES = 150;
const COMMENT_BYTES = 100;

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

export const jobRows: readonly Row[] = [
  row({
    method: 'POST',
    path: '/jobs',
    name: 'createJob',
    load: 'job',
    about: 'Create a job. Workers may create children of a job they hold.',
    who: [...MAKERS, 'run'],
    admits: mayCreate,
    headers: CreateHeaders,
    body: NewJob,
    status: 201,
    answer: JobAnswer,
    errors: MAKING,
    handle: async (call) => (await create(call, [call.body])).join(''),
  }),
  row({
    method: 'POST',
    path: '/jobs/batch',
    name: 'createJobs',
    load: 'job',
    about: 'Create up to 1,000 jobs, all or none.',
    who: MAKERS,
    admits: (actor, body) => actor.role === 'head' || areChildren(body),
    headers: CreateHeaders,
    body: NewJobs,
    status: 201,
    answer: JobBatch,
    errors: MAKING,
    handle: async (call) => `{"jobs":[${(await create(call, call.body.jobs)).join(',')}]}`,
  }),
  row({
    method: 'GET',
    path: '/jobs',
    name: 'listJobs',
    about: 'List jobs, filtered, searched and in pages. A worker sees its own targets.',
    who: EVERYONE,
    query: ListQuery,
    answer: JobList,
    handle: listJobs,
  }),
  row({
    method: 'GET',
    path: '/jobs/:id',
    name: 'getJob',
    about: 'Read a job, by its id or its short number.',
    who: [...EVERYONE, 'run'],
    answer: JobAnswer,
    errors: ABOUT_ONE,
    handle: async (call) =>
      fullJson(call, await call.engine.jobs.get(call.actor, await jobId(call)), { done: false }),
  }),
  row({
    method: 'GET',
    path: '/jobs/:id/events',
    name: 'getJobEvents',
    about: 'Read what happened to a job, oldest first.',
    who: [...EVERYONE, 'run'],
    query: PageQuery,
    answer: JobEvents,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { after = 0, limit = PAGE } = call.query;
      const id = await jobId(call);
      const { items, next } = await pageOf(call, {
        limit,
        itemBytes: LIMITS.errorChars,
        start: after,
        read: (from, count) => call.engine.jobs.events(call.actor, id, from, count),
        cursorOf: ({ seq }) => seq,
        bytesOf: ({ facts }) => EVENT_BYTES + (facts === null ? 0 : JSON.stringify(facts).length),
      });
      return { events: items.map(eventView), nextAfter: next };
    },
  }),
  row({
    method: 'GET',
    path: '/jobs/:id/comments',
    name: 'getJobComments',
    about: 'Read the comments on a job, oldest first. The job itself shows the newest of them.',
    who: [...EVERYONE, 'run'],
    query: PageQuery,
    answer: JobComments,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { after = 0, limit = PAGE } = call.query;
      const id = await jobId(call);
      const { items, next } = await pageOf(call, {
        limit,
        itemBytes: LIMITS.commentChars,
        start: after,
        read: (from, count) => call.engine.jobs.comments(call.actor, id, from, count),
        cursorOf: ({ seq }) => seq,
        bytesOf: ({ text }) => COMMENT_BYTES + text.length,
      });
      const comments = items.map(({ seq, at, by, text }) => ({ seq, t: iso(at), by, text }));
      return { comments, nextAfter: next };
    },
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/comment',
    name: 'commentJob',
    about: 'Add a comment to a job.',
    who: [...MAKERS, 'run'],
    body: CommentBody,
    answer: JobAnswer,
    errors: [...ABOUT_ONE, 'conflict'],
    handle: async (call) =>
      answer(call, await call.engine.jobs.comment(call.actor, await jobId(call), call.body.text)),
  }),
  row({
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
  row({
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
  row({
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

/** The job that the path names, by id or by its short number. What cannot be either never reaches the store. */
export function jobId({ engine, actor, params }: Call): Promise<string> {
  return fullId(engine, actor, params['id'] ?? '');
}

export async function fullId(engine: Engine, actor: Actor, id: string): Promise<string> {
  if (!mayBeId(id)) throw new SpineError('not_found', { id });
  return isNumber(id) ? (await engine.jobs.get(actor, id)).id : id;
}

/** Written here, because a pattern inside a function is made anew by every call. */
const ID = /^[\w.:~-]{1,100}$/;
const NUMBER = /^\d{1,15}$/;

/** Whether a caller's word can be the name of a job, and is not its short number. */
export function isFullId(id: string): boolean {
  return mayBeId(id) && !isNumber(id);
}

function mayBeId(id: string): boolean {
  return ID.test(id);
}

function isNumber(id: string): boolean {
  return NUMBER.test(id);
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

/** What is small is shown at once. Anything else is read when there is room for it. */
async function fullJson(
  call: Call,
  job: Job,
  { done, extra = '' }: { readonly done: boolean; readonly extra?: string },
): Promise<string> {
  const { jobs } = call.engine;
  const small = (await jobs.smallDetails([job])).get(job.no);
  if (small !== undefined) return jobJson(job, small, extra);
  // A commit may answer hundreds of callers: those with much to show take turns, or nobody else would be heard.
  const { room, turns } = call.parts;
  const bytes = await turns.take(call.actor, async () => (await jobs.sizes([job])).get(job.no) ?? 0);
  await room.take(call, bytes, done);
  return await turns.take(call.actor, async () => {
    const details = (await jobs.details([job])).get(job.no);
    // Retention may remove a finished job between two reads.
    if (!details) throw new SpineError('not_found');
    return jobJson(job, details, extra);
  });
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
  const drafts = bodies.map((body, index) => draftOf(body, bodies.length > 1 ? `jobs[${index}].` : ''));
  const { jobs, replayed } = await engine.jobs.create(actor, drafts, idempotencyOf(call));
  if (replayed) reply.header('idempotency-replayed', 'true');
  if (replayed || drafts.some(({ parentId }) => parentId !== undefined)) {
    const details = await engine.jobs.details(jobs);
    return jobs.flatMap((job) => {
      const known = details.get(job.no);
      return known ? [jobJson(job, known)] : [];
    });
  }
  // What was just written need not be read back.
  return jobs.map((job, index) =>
    jobJson(job, onlyInput(inputOf(bodies[index] ?? {}), bodies[index]?.type ?? null)),
  );
}

function draftOf({ queue, target, runAt, after, ...rest }: NewJobBody, place: string): JobDraft {
  if (queue !== undefined && target !== undefined && queue !== target) {
    const message = `${place}queue and ${place}target mean the same and must not differ.`;
    throw new SpineError('bad_request', { field: `${place}queue` }, { message });
  }
  return {
    ...rest,
    target: target ?? queue ?? 'left-claw',
    ...(runAt !== undefined && { runAt: timeOf(runAt, `${place}runAt`) }),
    ...(after !== undefined && { after: after.map((one) => (typeof one === 'string' ? { job: one } : one)) }),
  };
}

function inputOf(body: NewJobBody): JobInput {
  return {
    title: body.title ?? null,
    description: body.description ?? null,
    spec: textOf(body.spec),
    meta: textOf(body.meta),
    params: textOf(body.params),
    tags: body.tags ?? [],
    budget: textOf(body.budget),
  };
}

function textOf(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}

/** Keys of one caller never meet those of another: the engine keeps them by actor. */
function idempotencyOf({ request }: Call): IdempotencyKey | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && /^[\x21-\x7e]{1,200}$/.test(key)) return { key, bodyHash: request.bodyHash };
  const message = 'The Idempotency-Key header must be 1 to 200 printable ASCII characters without spaces.';
  throw new SpineError('bad_request', { field: 'Idempotency-Key' }, { message });
}
