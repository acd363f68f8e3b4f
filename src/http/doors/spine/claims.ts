/** Claims at the Spine door: the next job, this very job, and what their holders get to see. */

import type { Actor, ClaimedJob } from '../../../domain/command.ts';
import { SpineError } from '../../../domain/error.ts';
import type { Job, JobDetails } from '../../../domain/job.ts';
import { serves } from '../../../domain/lease.ts';
import type { Message } from '../../../domain/message.ts';
import type { Engine, HandedOn } from '../../../engine/engine.ts';
import { hasLeft } from '../../../engine/handed-on.ts';
import { Claimed, ClaimedJob as ClaimedJobAnswer } from './answers.ts';
import { goneSignal } from '../../gone.ts';
import { jobId } from '../../job-id.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { ClaimBody, ClaimNextBody, type NextClaim } from './schemas.ts';
import { delivered } from '../../delivery.ts';
import { answer } from './jobs.ts';
import { mailJson, mailList } from '../../mail.ts';
import { forHolder, jobJson, leftForHolder, onlyInput } from './view.ts';

const WORKERS = ['worker'] as const;

export const claimRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/jobs/claim',
    name: 'claimNext',
    load: 'job',
    about: 'Take the best ready jobs, waiting for one if need be.',
    who: WORKERS,
    body: ClaimNextBody,
    answer: Claimed,
    errors: ['forbidden'],
    handle: claimNext,
  }),
  route({
    method: 'POST',
    path: '/jobs/:id/claim',
    name: 'claimJob',
    v0: true,
    load: 'job',
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
      'missing_capability',
    ],
    handle: async (call) => {
      const accepted = await call.engine.leases.claim(call.actor, await jobId(call), call.body);
      const { job } = accepted;
      return delivered(call, [accepted], call.body.claimId, async () =>
        answer(
          call,
          accepted,
          forHolder(job) + leftForHolder(await leftFor(call.engine, job)) + mailOf(accepted),
        ),
      );
    },
  }),
];

async function claimNext(call: Call<ClaimNext>): Promise<string> {
  const { engine, actor, body, parts } = call;
  const { waitMs = 0 } = body;
  if (waitMs > 0) call.request.waited = true;
  // Nothing is taken while there is no room to hand it out.
  const crowded = parts.room.opened(call);
  if (crowded !== null) await crowded;
  const claimed = await engine.leases.claimNext(actor, {
    ...wanted(actor, body),
    waitMs,
    ...(call.answerBytes !== undefined && { maxBytes: call.answerBytes }),
    ...(waitMs > 0 && { signal: goneSignal(call) }),
  });
  return delivered(
    call,
    claimed,
    body.claimId,
    async (jobs) => `{"jobs":[${(await claimedJson(engine, jobs)).join(',')}],"messages":${mailOfAll(jobs)}}`,
  );
}

interface ClaimNext extends NextClaim {
  readonly target?: string;
  readonly waitMs?: number;
}

export function wanted(actor: Actor, claim: Omit<ClaimNext, 'waitMs'>) {
  const { max = 1, types, capabilities, leaseMs, claimId } = claim;
  return {
    targets: targetsOf(actor, claim),
    max,
    ...(types && { types }),
    ...(capabilities && { capabilities }),
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

export async function claimedJson(engine: Engine, claimed: readonly ClaimedJob[]): Promise<string[]> {
  const { details, types, left } = await moreAbout(engine, claimed);
  return claimed.flatMap(({ job, input, messages }) => {
    const type = types.get(job.typeNo);
    const known = details.get(job.no) ?? (input && onlyInput(input, type?.name ?? null));
    // An operator may have removed the job since.
    const extra =
      forHolder(job) + leftForHolder(left.get(job.no)) + instructionsOf(type) + mailOf({ messages });
    return known ? [jobJson(job, known, extra)] : [];
  });
}

interface More {
  readonly details: ReadonlyMap<number, JobDetails>;
  readonly types: Awaited<ReturnType<Engine['types']['known']>>;
  readonly left: ReadonlyMap<number, HandedOn>;
}

async function leftFor(engine: Engine, job: Job): Promise<HandedOn | undefined> {
  return (await engine.jobs.handedOn([job])).get(job.no);
}

const NOTHING_MORE: More = { details: new Map(), types: new Map(), left: new Map() };

/** Most jobs have no type, no past and a small input: all there is to know came with the claim. */
async function moreAbout(engine: Engine, claimed: readonly ClaimedJob[]): Promise<More> {
  const unread = claimed.filter(({ job, input }) => input === null || hasHistory(job)).map(({ job }) => job);
  // Their rows say whether there is anything to read.
  const given = claimed.map(({ job }) => job).filter(hasLeft);
  const typed = claimed.some(({ job }) => job.typeNo !== 0);
  if (unread.length === 0 && given.length === 0 && !typed) return NOTHING_MORE;
  const [details, types, left] = await Promise.all([
    unread.length > 0 ? engine.jobs.details(unread) : NOTHING_MORE.details,
    typed ? engine.types.known() : NOTHING_MORE.types,
    given.length > 0 ? engine.jobs.handedOn(given) : NOTHING_MORE.left,
  ]);
  return { details, types, left };
}

/** Whether there is more to know about a claimed job than its input. */
function hasHistory({ attempts, fence, comments, retryOf, parentNo }: ClaimedJob['job']): boolean {
  return attempts > 1 || fence > 1 || comments > 0 || retryOf !== null || parentNo !== null;
}

/** How to do work of this type. The schema is JSON already. */
function instructionsOf(type: { sop: string | null; paramsSchema: string | null } | undefined): string {
  return type === undefined
    ? ''
    : `,"sop":${JSON.stringify(type.sop)},"schema":${type.paramsSchema ?? 'null'}`;
}

/** They go with the job whose lease says whether they have arrived. */
function mailOf({ messages }: { readonly messages?: readonly Message[] | undefined }): string {
  return messages === undefined ? '' : mailJson(messages);
}

/** The same once more for the whole claim, for whoever does not look at its jobs one by one. */
function mailOfAll(claimed: readonly ClaimedJob[]): string {
  const all = claimed.flatMap(({ messages = [] }) => messages);
  return all.length === 0 ? '[]' : mailList(all);
}
