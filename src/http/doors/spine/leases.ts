/** Leases at the Spine door: heartbeat, log, and the calls that end a claim. */

import type { Actor } from '../../../domain/command.ts';
import { SpineError } from '../../../domain/error.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { type Usage, type UsageSaid, usageSaid } from '../../../domain/usage.ts';
import type { Ending } from '../../../engine/engine.ts';
import { BatchResults, Beat, EndedJob, EndedMaybeNext, LogsAccepted } from './answers.ts';
import { type Call, route, type Route } from '../../routes.ts';
import {
  BatchHeaders,
  CompleteBatchBody,
  CompleteBody,
  EndHeaders,
  FailBody,
  HeartbeatBody,
  LeaseHeaders,
  LogBody,
  type NextClaim,
  ReleaseBody,
  SnoozeBody,
} from './schemas.ts';
import { jobId } from '../../job-id.ts';
import { timeOf } from '../../times.ts';
import { completeBatch } from './batch.ts';
import { claimedJson, wanted } from './claims.ts';
import { delivered } from '../../delivery.ts';
import { answer, endAnswer } from './jobs.ts';
import { mailJson } from '../../mail.ts';

export const HOLDERS = ['head', 'worker', 'run'] as const;

const ONLY_WORKERS = 'Only workers claim: leave next out.';

/** What a call about one job can be told. */
const ABOUT_ONE = ['not_found', 'forbidden'] as const;
/** What a call under a lease can be told. */
export const HELD = [...ABOUT_ONE, 'not_owner', 'not_running', 'lease_lost', 'lease_token_required'] as const;

export const leaseRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/jobs/:id/heartbeat',
    name: 'heartbeat',
    v0: true,
    load: 'lease',
    about: 'Keep the lease, say how far the work is, and hear whether to stop.',
    who: HOLDERS,
    forShownTokens: true,
    headers: LeaseHeaders,
    body: HeartbeatBody,
    answer: Beat,
    errors: HELD,
    handle: async (call) => {
      const progress = atMost(call.body.progress, 'progress', LIMITS.progressBytes);
      const { leases } = call.engine;
      const { received, leaseMs, usage } = call.body;
      const [took] = tookIn(usage);
      const accepted = await leases.heartbeat(call.actor, await jobId(call), tokenOf(call), progress, {
        ...(received && { received }),
        ...(leaseMs !== undefined && { leaseMs }),
        ...(took && { usage: took }),
      });
      const news = accepted.messages ? mailJson(accepted.messages) : NO_NEWS;
      return answer(call, accepted, accepted.job.cancelRequested ? news : GO_ON + news);
    },
  }),
  route({
    method: 'POST',
    path: '/jobs/:id/complete',
    name: 'completeJob',
    v0: true,
    load: 'lease',
    about: 'End a job well; with next, take further ones in the same call.',
    who: HOLDERS,
    admits: mayClaimNext,
    condition: ONLY_WORKERS,
    headers: EndHeaders,
    body: CompleteBody,
    answer: EndedMaybeNext,
    errors: HELD,
    handle: async (call) => {
      const { next, result, received, usage } = call.body;
      const [took] = tookIn(usage);
      const id = await jobId(call);
      const also = { ...(received && { received }), ...(took && { usage: took }) };
      const ending = { verb: 'complete', result, ...also } as const;
      if (next !== undefined) return endThenClaim(call, id, ending, next);
      return endAnswer(
        call,
        await call.engine.leases.complete(call.actor, id, tokenOf(call), result, received, took),
      );
    },
  }),
  route({
    method: 'POST',
    path: '/jobs/complete-batch',
    name: 'completeJobs',
    load: 'lease',
    about:
      'End up to 1,000 jobs well; each is judged by itself, and the answer says how. With next, take further ones.',
    who: ['head', 'worker'],
    admits: mayClaimNext,
    condition: ONLY_WORKERS,
    headers: BatchHeaders,
    body: CompleteBatchBody,
    answer: BatchResults,
    handle: completeBatch,
  }),
  route({
    method: 'POST',
    path: '/jobs/:id/fail',
    name: 'failJob',
    v0: true,
    load: 'lease',
    about:
      'End an attempt badly; the job is tried again while attempts are left, unless requeue is false: at once, or with backoff after a while.',
    who: HOLDERS,
    admits: mayClaimNext,
    condition: ONLY_WORKERS,
    headers: EndHeaders,
    body: FailBody,
    answer: EndedMaybeNext,
    errors: HELD,
    handle: async (call) => {
      const { requeue = true, cause = null, backoff = false, next, received, usage } = call.body;
      const [took] = tookIn(usage);
      const error = atMost(call.body.error, 'error', LIMITS.errorChars);
      const id = await jobId(call);
      const how = { cause, backoff, ...(received && { received }), ...(took && { usage: took }) };
      if (next !== undefined) return endThenClaim(call, id, { verb: 'fail', error, requeue, ...how }, next);
      const { leases } = call.engine;
      return endAnswer(call, await leases.fail(call.actor, id, tokenOf(call), error, requeue, how));
    },
  }),
  route({
    method: 'POST',
    path: '/jobs/:id/release',
    name: 'releaseJob',
    v0: true,
    load: 'lease',
    about: 'Give a job back, for somebody else to do.',
    who: HOLDERS,
    headers: LeaseHeaders,
    body: ReleaseBody,
    answer: EndedJob,
    errors: HELD,
    handle: async (call) => {
      const { reason = null, received } = call.body;
      return answer(
        call,
        await call.engine.leases.release(call.actor, await jobId(call), tokenOf(call), reason, received),
      );
    },
  }),
  route({
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
        await call.engine.jobs.snooze(
          call.actor,
          await jobId(call),
          untilAt,
          tokenOf(call),
          call.body.received,
        ),
      );
    },
  }),
  route({
    method: 'POST',
    path: '/jobs/:id/logs',
    name: 'writeLogs',
    about: "Add lines to a job's log.",
    who: HOLDERS,
    forShownTokens: true,
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
];

/** None where nothing was counted. */
function tookIn(said: UsageSaid | undefined): readonly [usage?: Usage] {
  const took = said === undefined ? null : usageSaid(said);
  return took === null ? [] : [took];
}

/** The job itself shows `cancelRequested` when it is true. */
const NO_NEWS = ',"messages":[]';
const GO_ON = ',"cancelRequested":false';

/** v0 clients send no lease token, and are judged by who they are; a run is its lease. */
export function tokenOf({ actor, body, request }: Call<{ leaseToken?: string | null }>): string | null {
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

async function endThenClaim(
  call: Call<{ leaseToken?: string | null }>,
  id: string,
  ending: Ending,
  next: NextClaim,
): Promise<string> {
  const { engine, actor } = call;
  const { leases } = engine;
  const done = await leases.endThenClaim(actor, id, tokenOf(call), ending, wanted(actor, next));
  return delivered(call, done.next, next.claimId, async (jobs) => {
    const [job, claimed] = await Promise.all([endAnswer(call, done.ended), claimedJson(engine, jobs)]);
    return `{"job":${job},"next":[${claimed.join(',')}]}`;
  });
}
