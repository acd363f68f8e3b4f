/** Claims at the Spine door: the next job, this very job, and what their holders get to see. */

import type { Actor, ClaimedJob } from '../../domain/command.ts';
import { SpineError } from '../../domain/error.ts';
import type { JobDetails } from '../../domain/job.ts';
import { serves } from '../../domain/lease.ts';
import type { Engine } from '../../engine/engine.ts';
import { Claimed, ClaimedJob as ClaimedJobAnswer } from '../answers.ts';
import { fieldsOf, itemsOf } from '../json-text.ts';
import { type Call, row, type Row } from '../routes.ts';
import { ClaimBody, ClaimNextBody, type NextClaim } from '../schemas.ts';
import { answer, jobId } from './spine-jobs.ts';
import { forHolder, jobJson, onlyInput } from './spine-view.ts';

const WORKERS = ['worker'] as const;

export const claimRows: readonly Row[] = [
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
      'not_found',
      'forbidden',
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
];

async function claimNext(call: Call<ClaimNext>): Promise<string> {
  const { engine, actor, body, reply } = call;
  const { waitMs = 0 } = body;
  const claimed = await engine.leases.claimNext(actor, {
    ...wanted(actor, body),
    waitMs,
    ...(waitMs > 0 && { signal: goneSignal(reply) }),
  });
  if (isGone(call, body.claimId)) await giveBack(call, claimed);
  return `{"jobs":[${itemsOf(await claimedJson(engine, claimed))}]}`;
}

/** Whoever named the claim can ask for it again; anybody else's jobs would wait for their lease to end. */
export function isGone({ reply }: Pick<Call, 'reply'>, claimId: string | undefined): boolean {
  return reply.raw.destroyed && claimId === undefined;
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

export function wanted(actor: Actor, claim: Omit<ClaimNext, 'waitMs'>) {
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

export async function giveBack({ engine, actor }: Call, claimed: readonly ClaimedJob[]): Promise<void> {
  const reason = 'The claimer was gone before it could be answered.';
  await Promise.all(claimed.map(({ job }) => engine.leases.release(actor, job.id, job.leaseToken, reason)));
}

export async function claimedJson(engine: Engine, claimed: readonly ClaimedJob[]): Promise<string[]> {
  if (isKnown(claimed))
    return claimed.map(({ job, input }) => jobJson(job, onlyInput(input, null), forHolder(job)));
  const { details, types } = await moreAbout(engine, claimed);
  return claimed.map(({ job, input }) => {
    const type = types.find(({ no }) => no === job.typeNo);
    const instructions = type && { sop: type.sop, schema: parsed(type.paramsSchema) };
    const known = details.get(job.no) ?? onlyInput(input, type?.name ?? null);
    return jobJson(job, known, forHolder(job) + fieldsOf(instructions));
  });
}

interface More {
  readonly details: ReadonlyMap<number, JobDetails>;
  readonly types: Awaited<ReturnType<Engine['types']['list']>>;
}

/** Most jobs have no type and no past: all there is to know came with the claim. */
function isKnown(claimed: readonly ClaimedJob[]): boolean {
  return claimed.every(({ job }) => job.typeNo === 0 && !hasHistory(job));
}

async function moreAbout(engine: Engine, claimed: readonly ClaimedJob[]): Promise<More> {
  const old = claimed.filter(({ job }) => hasHistory(job)).map(({ job }) => job);
  const typed = claimed.some(({ job }) => job.typeNo !== 0);
  const [details, types] = await Promise.all([
    old.length > 0 ? engine.jobs.details(old) : new Map<number, JobDetails>(),
    typed ? engine.types.list() : [],
  ]);
  return { details, types };
}

/** Whether there is more to know about a claimed job than its input. */
function hasHistory({ attempts, fence, comments, retryOf, parentNo }: ClaimedJob['job']): boolean {
  return attempts > 1 || fence > 1 || comments > 0 || retryOf !== null || parentNo !== null;
}

function parsed(json: string | null): unknown {
  return json === null ? null : JSON.parse(json);
}
