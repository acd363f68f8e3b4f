/** Leases at the Spine door: claim, heartbeat, and the calls that end a claim. */

import type { ClaimedJob } from '../../domain/command.ts';
import { SpineError } from '../../domain/error.ts';
import type { JobDetails } from '../../domain/job.ts';
import { serves } from '../../domain/lease.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Engine } from '../../engine/engine.ts';
import { type Call, row, type Row } from '../routes.ts';
import {
  ClaimBody,
  ClaimNextBody,
  CompleteBody,
  FailBody,
  HeartbeatBody,
  LogBody,
  PageQuery,
  ReleaseBody,
  SnoozeBody,
} from '../schemas.ts';
import { iso, timeOf } from '../times.ts';
import { answer, jobId } from './spine-jobs.ts';
import { forHolder, jobJson, onlyInput } from './spine-view.ts';

const HOLDERS = ['head', 'worker'] as const;
const PAGE = 1_000;

export const leaseRows: readonly Row[] = [
  row({
    method: 'POST',
    path: '/jobs/claim',
    who: ['worker'],
    body: ClaimNextBody,
    handle: claimNext,
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/claim',
    who: ['worker'],
    body: ClaimBody,
    handle: async (call) => {
      const accepted = await call.engine.leases.claim(call.actor, await jobId(call), call.body);
      return answer(call, accepted, forHolder(accepted.job));
    },
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/heartbeat',
    who: HOLDERS,
    body: HeartbeatBody,
    handle: async (call) => {
      const { leases } = call.engine;
      return answer(
        call,
        await leases.heartbeat(
          call.actor,
          await jobId(call),
          tokenOf(call),
          atMost(call.body.progress, 'progress', LIMITS.progressBytes),
        ),
      );
    },
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/complete',
    who: HOLDERS,
    body: CompleteBody,
    handle: async (call) => {
      const { leases } = call.engine;
      return answer(
        call,
        await leases.complete(call.actor, await jobId(call), tokenOf(call), call.body.result),
      );
    },
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/fail',
    who: HOLDERS,
    body: FailBody,
    handle: async (call) => {
      const { requeue = true } = call.body;
      const error = atMost(call.body.error, 'error', LIMITS.errorChars);
      return answer(
        call,
        await call.engine.leases.fail(call.actor, await jobId(call), tokenOf(call), error, requeue),
      );
    },
  }),
  row({
    method: 'POST',
    path: '/jobs/:id/release',
    who: HOLDERS,
    body: ReleaseBody,
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
    who: HOLDERS,
    body: SnoozeBody,
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
    who: HOLDERS,
    body: LogBody,
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
    who: ['head', 'worker', 'viewer'],
    query: PageQuery,
    handle: async (call) => {
      const { after = 0, limit = PAGE } = call.query;
      const logs = await call.engine.jobs.logs(call.actor, await jobId(call), after, limit);
      return {
        logs: logs.map(({ no, attempt, at, level, text }) => ({ no, attempt, t: iso(at), level, text })),
      };
    },
  }),
];

/** v0 clients send no lease token, and are judged by who they are. */
function tokenOf({ body, request }: Call<{ leaseToken?: string | null }>): string | null {
  const header = request.headers['x-lease-token'];
  return body.leaseToken ?? (typeof header === 'string' ? header : null);
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
  const { max = 1, waitMs = 0, leaseMs, claimId, types } = body;
  const claimed = await engine.leases.claimNext(actor, {
    targets: targetsOf(call),
    max,
    waitMs,
    ...(waitMs > 0 && { signal: goneSignal(reply) }),
    ...(types && { types }),
    ...(leaseMs !== undefined && { leaseMs }),
    ...(claimId !== undefined && { claimId }),
  });
  // Whoever named the claim can ask for it again; anybody else's jobs would wait for their lease to end.
  if (reply.raw.destroyed && claimId === undefined) await giveBack(call, claimed);
  return `{"jobs":[${(await claimedJson(engine, claimed)).join(',')}]}`;
}

/** The request's own "close" comes as soon as its body was read; the reply's comes with the connection's end. */
function goneSignal(reply: Call['reply']): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return gone.signal;
}

interface ClaimNext {
  readonly target?: string;
  readonly targets?: readonly string[];
  readonly types?: readonly string[];
  readonly max?: number;
  readonly waitMs?: number;
  readonly leaseMs?: number;
  readonly claimId?: string;
}

function targetsOf({ actor, body }: Call<ClaimNext>): readonly string[] {
  if (body.target !== undefined && body.targets !== undefined) {
    throw new SpineError(
      'bad_request',
      { field: 'target' },
      { message: 'Send target or targets, not both.' },
    );
  }
  const targets = body.targets ?? (body.target === undefined ? actor.targets : [body.target]);
  if (targets === null)
    throw new SpineError('bad_request', { field: 'targets' }, { message: 'targets is required.' });
  const foreign = targets.find((target) => !serves(actor, target));
  if (foreign !== undefined) throw new SpineError('forbidden', { target: foreign });
  return targets;
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
