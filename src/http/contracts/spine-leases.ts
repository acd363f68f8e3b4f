/** Leases at the Spine door: claim, heartbeat, and the calls that end a claim. */

import type { Actor, ClaimedJob } from '../../domain/command.ts';
import { SpineError } from '../../domain/error.ts';
import type { JobDetails } from '../../domain/job.ts';
import { serves } from '../../domain/lease.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Ending, Engine } from '../../engine/engine.ts';
import {
  BatchResults,
  Beat,
  Claimed,
  ClaimedJob as ClaimedJobAnswer,
  EndedJob,
  EndedMaybeNext,
  Logs,
  LogsAccepted,
} from '../answers.ts';
import { type Call, row, type Row } from '../routes.ts';
import {
  ClaimBody,
  ClaimNextBody,
  CompleteBatchBody,
  CompleteBody,
  FailBody,
  HeartbeatBody,
  LeaseHeaders,
  LogBody,
  type NextClaim,
  PageQuery,
  ReleaseBody,
  SnoozeBody,
} from '../schemas.ts';
import { iso, timeOf } from '../times.ts';
import { completeBatch } from './spine-batch.ts';
import { answer, jobId } from './spine-jobs.ts';
import { forHolder, jobJson, onlyInput } from './spine-view.ts';

const HOLDERS = ['head', 'worker', 'run'] as const;
const WORKERS = ['worker'] as const;
const PAGE = 1_000;

const ABOUT_ONE = ['not_found', 'forbidden'] as const;
/** What a call under a lease can be told. */
const HELD = [...ABOUT_ONE, 'not_owner', 'not_running', 'lease_lost', 'lease_token_required'] as const;

export const leaseRows: readonly Row[] = [
  row({
    method: 'POST',
    path: '/jobs/claim',
    name: 'claimNext',
    about: 'Take the best ready jobs, waiting for one if need be.',
    who: WORKERS,
    body: ClaimNextBody,
    answer: Claimed,
    errors: ['forbidden'],
    handle: claimNext,
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/claim',
    name: 'claimJob',
    about: 'Take this very job.',
    who: WORKERS,
    body: ClaimBody,
    answer: ClaimedJobAnswer,
    errors: [
      ...ABOUT_ONE,
      'already_claimed',
      'terminal_status',
      'max_attempts_reached',
      'not_ready',
      'paused',
      'pool_full',
    ],
    handle: async (call) => {
      const accepted = await call.engine.leases.claim(call.actor, await jobId(call), call.body);
      return answer(call, accepted, forHolder(accepted.job));
    },
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/heartbeat',
    name: 'heartbeat',
    about: 'Keep the lease, say how far the work is, and hear whether to stop.',
    who: HOLDERS,
    headers: LeaseHeaders,
    body: HeartbeatBody,
    answer: Beat,
    errors: HELD,
    handle: async (call) => {
      const progress = atMost(call.body.progress, 'progress', LIMITS.progressBytes);
      const { leases } = call.engine;
      const accepted = await leases.heartbeat(call.actor, await jobId(call), tokenOf(call), progress);
      return answer(call, accepted, accepted.job.cancelRequested ? NO_NEWS : GO_ON);
    },
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/complete',
    name: 'completeJob',
    about: 'End a job well; with next, take further ones in the same call.',
    who: HOLDERS,
    admits: mayClaimNext,
    headers: LeaseHeaders,
    body: CompleteBody,
    answer: EndedMaybeNext,
    errors: HELD,
    handle: async (call) => {
      const { next, result } = call.body;
      const id = await jobId(call);
      if (next !== undefined) return endThenClaim(call, id, { verb: 'complete', result }, next);
      return answer(call, await call.engine.leases.complete(call.actor, id, tokenOf(call), result));
    },
  }),
  row({
    method: 'POST',
    path: '/jobs/complete-batch',
    name: 'completeJobs',
    about: 'End up to 1,000 jobs well; each is judged by itself, and the answer says how.',
    who: ['head', 'worker'],
    body: CompleteBatchBody,
    answer: BatchResults,
    handle: completeBatch,
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/fail',
    name: 'failJob',
    about: 'End an attempt badly; the job is queued again while attempts are left, unless requeue is false.',
    who: HOLDERS,
    admits: mayClaimNext,
    headers: LeaseHeaders,
    body: FailBody,
    answer: EndedMaybeNext,
    errors: HELD,
    handle: async (call) => {
      const { requeue = true, next } = call.body;
      const error = atMost(call.body.error, 'error', LIMITS.errorChars);
      const id = await jobId(call);
      if (next !== undefined) return endThenClaim(call, id, { verb: 'fail', error, requeue }, next);
      return answer(call, await call.engine.leases.fail(call.actor, id, tokenOf(call), error, requeue));
    },
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/release',
    name: 'releaseJob',
    about: 'Give a job back, for somebody else to do.',
    who: HOLDERS,
    headers: LeaseHeaders,
    body: ReleaseBody,
    answer: EndedJob,
    errors: HELD,
    handle: async (call) => {
      const { reason = null } = call.body;
      return answer(
        call,
        await call.engine.leases.release(call.actor, await jobId(call), tokenOf(call), reason),
      );
    },
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/snooze',
    name: 'snoozeJob',
    about: 'Put a job off until a later time.',
    who: HOLDERS,
    headers: LeaseHeaders,
    body: SnoozeBody,
    answer: EndedJob,
    errors: HELD,
    handle: async (call) => {
      const untilAt = timeOf(call.body.untilAt, 'untilAt');
      return answer(
        call,
        await call.engine.jobs.snooze(call.actor, await jobId(call), untilAt, tokenOf(call)),
      );
    },
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/logs',
    name: 'writeLogs',
    about: "Add lines to a job's log.",
    who: HOLDERS,
    headers: LeaseHeaders,
    body: LogBody,
    answer: LogsAccepted,
    errors: HELD,
    handle: async (call) => {
      const now = call.engine.now();
      const lines = call.body.lines.map(({ text, level = 'info', at }, index) => ({
        text,
        level,
        at: at === undefined ? now : timeOf(at, `lines[${index}].at`),
      }));
      const { job } = await call.engine.leases.log(call.actor, await jobId(call), tokenOf(call), lines);
      return { accepted: lines.length, cancelRequested: job.cancelRequested };
    },
  }),
  row({
    method: 'GET',
    path: '/jobs/:id/logs',
    name: 'readLogs',
    about: "Read a job's log, oldest line first.",
    who: ['head', 'worker', 'viewer', 'run'],
    query: PageQuery,
    answer: Logs,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { after = 0, limit = PAGE } = call.query;
      const logs = await call.engine.jobs.logs(call.actor, await jobId(call), after, limit);
      return {
        logs: logs.map(({ no, attempt, at, level, text }) => ({ no, attempt, t: iso(at), level, text })),
      };
    },
  }),
];

/** The job itself shows `cancelRequested` when it is true. */
const NO_NEWS = { messages: [] };
const GO_ON = { cancelRequested: false, ...NO_NEWS };

/** v0 clients send no lease token, and are judged by who they are; a run is its lease. */
function tokenOf({ actor, body, request }: Call<{ leaseToken?: string | null }>): string | null {
  return body.leaseToken ?? leaseHeader(request) ?? actor.leaseToken ?? null;
}

export function leaseHeader({ headers }: Call['request']): string | null {
  const header = headers['x-lease-token'];
  return typeof header === 'string' ? header : null;
}

/** Only who may claim may claim the next: head does not work, and a run is one job alone. */
function mayClaimNext(actor: Actor, body: unknown): boolean {
  return actor.role === 'worker' || (body as { next?: unknown } | null)?.next === undefined;
}

/** Results may be as large as a body; what is written again and again may not. */
function atMost(value: unknown, field: string, limit: number): unknown {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  if (text.length <= limit) return value;
  throw new SpineError(
    'bad_request',
    { field },
    { message: `${field} must be at most ${limit} characters of JSON.` },
  );
}

async function claimNext(call: Call<ClaimNext>): Promise<string> {
  const { engine, actor, body, reply } = call;
  const { waitMs = 0 } = body;
  const claimed = await engine.leases.claimNext(actor, {
    ...wanted(actor, body),
    waitMs,
    ...(waitMs > 0 && { signal: goneSignal(reply) }),
  });
  await keepIfThere(call, claimed, body.claimId);
  return `{"jobs":[${(await claimedJson(engine, claimed)).join(',')}]}`;
}

async function endThenClaim(
  call: Call<{ leaseToken?: string | null }>,
  id: string,
  ending: Ending,
  next: NextClaim,
): Promise<string> {
  const { engine, actor } = call;
  const { leases } = engine;
  const done = await leases.endThenClaim(actor, id, tokenOf(call), ending, wanted(actor, next));
  await keepIfThere(call, done.next, next.claimId);
  const [job, claimed] = await Promise.all([answer(call, done.ended), claimedJson(engine, done.next)]);
  return `{"job":${job},"next":[${claimed.join(',')}]}`;
}

/** Whoever named the claim can ask for it again; anybody else's jobs would wait for their lease to end. */
async function keepIfThere(
  call: Call,
  claimed: readonly ClaimedJob[],
  claimId: string | undefined,
): Promise<void> {
  if (call.reply.raw.destroyed && claimId === undefined) await giveBack(call, claimed);
}

/** The request's own "close" comes as soon as its body was read; the reply's comes with the connection's end. */
function goneSignal(reply: Call['reply']): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return gone.signal;
}

interface ClaimNext extends NextClaim {
  readonly target?: string;
  readonly waitMs?: number;
}

function wanted(actor: Actor, claim: Omit<ClaimNext, 'waitMs'>) {
  const { max = 1, types, leaseMs, claimId } = claim;
  return {
    targets: targetsOf(actor, claim),
    max,
    ...(types && { types }),
    ...(leaseMs !== undefined && { leaseMs }),
    ...(claimId !== undefined && { claimId }),
  };
}

/** Who may serve everything and names nothing gets what is addressed to him, or to anybody. */
function targetsOf(actor: Actor, { target, targets }: ClaimNext): readonly string[] {
  if (target !== undefined && targets !== undefined) {
    const message = 'Send target or targets, not both.';
    throw new SpineError('bad_request', { field: 'target' }, { message });
  }
  if (target === undefined && targets === undefined) return actor.targets ?? [actor.name, 'any'];
  const named = targets ?? (target === undefined ? [] : [target]);
  const foreign = named.find((one) => !serves(actor, one));
  if (foreign !== undefined) throw new SpineError('forbidden', { target: foreign });
  return named;
}

async function giveBack({ engine, actor }: Call, claimed: readonly ClaimedJob[]): Promise<void> {
  const reason = 'The claimer was gone before it could be answered.';
  await Promise.all(claimed.map(({ job }) => engine.leases.release(actor, job.id, job.leaseToken, reason)));
}

async function claimedJson(engine: Engine, claimed: readonly ClaimedJob[]): Promise<string[]> {
  const old = claimed.filter(({ job }) => hasHistory(job)).map(({ job }) => job);
  const typed = claimed.some(({ job }) => job.typeNo !== 0);
  const [details, types] = await Promise.all([
    old.length > 0 ? engine.jobs.details(old) : new Map<number, JobDetails>(),
    typed ? engine.types.list() : [],
  ]);
  return claimed.map(({ job, input }) => {
    const type = types.find(({ no }) => no === job.typeNo);
    const instructions = type && { sop: type.sop, schema: parsed(type.paramsSchema) };
    const known = details.get(job.no) ?? onlyInput(input, type?.name ?? null);
    return jobJson(job, known, { ...forHolder(job), ...instructions });
  });
}

/** Whether there is more to know about a claimed job than its input. */
function hasHistory({ attempts, fence, comments, retryOf, parentNo }: ClaimedJob['job']): boolean {
  return attempts > 1 || fence > 1 || comments > 0 || retryOf !== null || parentNo !== null;
}

function parsed(json: string | null): unknown {
  return json === null ? null : JSON.parse(json);
}
