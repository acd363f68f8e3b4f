/** The exclusive right to a running job. Hold it, or change nothing. */

import type { Actor, LeaseOffer } from './command.ts';
import { type Refusal, refuse } from './error.ts';
import { type EndingVerb, isFinal, type Job } from './job.ts';
import { ownPriority } from './priority.ts';

/** Whether this actor may see and serve work for the target at all. */
export function serves(actor: Pick<Actor, 'targets'>, target: string): boolean {
  return actor.targets === null || actor.targets.includes(target);
}

/** Whether this actor may see and touch this very job. */
export function mayTouch(actor: Actor, job: Pick<Job, 'id' | 'target'>): boolean {
  return serves(actor, job.target) && (actor.onlyJob === undefined || actor.onlyJob === job.id);
}

export type Hold =
  | { readonly held: true; readonly withToken: boolean }
  | { readonly held: false; readonly refusal: Refusal };

/**
 * Whether the caller holds the job's lease. With a token only the token counts, so that a twin with the
 * same role, or a worker back from a long pause, cannot write. Without one v0's rule of ownership applies.
 */
export function holds(job: Job, actor: Actor, leaseToken: string | null): Hold {
  if (leaseToken !== null) {
    if (job.state === 'running' && job.leaseToken === leaseToken) return { held: true, withToken: true };
    return { held: false, refusal: leaseLost(job) };
  }
  const mayOverride = actor.role === 'head' || actor.role === 'system';
  if (!mayOverride && job.claimedBy !== actor.name) {
    return { held: false, refusal: refuse('not_owner', { claimedBy: job.claimedBy }) };
  }
  if (job.state !== 'running') return { held: false, refusal: notRunning(job) };
  if (!mayOverride && job.tokenUsed) {
    return { held: false, refusal: refuse('lease_token_required', { claimedBy: job.claimedBy }) };
  }
  return { held: true, withToken: false };
}

/** Whether this very call already ended this very lease: then it is answered like the first time. */
export function alreadyEndedBy(job: Job, verb: EndingVerb, leaseToken: string | null): boolean {
  return leaseToken !== null && job.endedToken === leaseToken && job.endedVerb === verb;
}

/** Whether the job's last lease was this one, and has ended. */
export function isLastLease(job: Job, leaseToken: string | null): boolean {
  return leaseToken !== null && job.endedToken === leaseToken;
}

/** Whether the job was failed because this very actor, its last holder, was away or said nothing of it. */
export function wasLostBy(job: Job, actor: Actor): boolean {
  const wasLost = job.cause === 'stale' || job.cause === 'timeout';
  return wasLost && job.leasePolicy === 'presence' && job.claimedBy === actor.name && isFinal(job.state);
}

function leaseLost(job: Job): Refusal {
  return refuse('lease_lost', {
    state: job.state,
    claimedBy: job.claimedBy,
    leaseUntil: job.leaseUntil,
  });
}

export function notRunning(job: Job): Refusal {
  return refuse('not_running', { state: job.state });
}

/** Starts a lease on a copy of the row: a new token, a higher fence, one attempt more. */
export function startLease(job: Job, actor: Actor, offer: LeaseOffer, now: number): Job {
  return {
    ...job,
    state: 'running',
    updatedAt: now,
    attempts: job.attempts + 1,
    fence: job.fence + 1,
    leaseToken: offer.token,
    leaseUntil: now + (offer.leaseMs ?? job.leaseMs),
    leasePolicy: offer.policy,
    leaseSpanMs: offer.limitMs ?? offer.leaseMs,
    claimedBy: actor.name,
    claimId: offer.claimId,
    tokenUsed: false,
    timeoutAt: timeoutAtOf(job, offer, now),
    startedAt: now,
    progress: null,
    blockedOn: null,
    priority: ownPriority(job.priority),
    mailed: false,
  };
}

/**
 * Work that may go on elsewhere is judged by whoever looks after it: only the holder sees when the work itself began,
 * and after a crash the next holder has to take it over before anybody judges it.
 */
function timeoutAtOf({ timeoutMs }: Job, { policy, limitMs }: LeaseOffer, now: number): number | null {
  const longestMs = timeoutMs ?? limitMs ?? null;
  return longestMs === null || policy === 'adopt' ? null : now + longestMs;
}

/** A sign of life about this very job, on a row that is already a copy. A lease that was asked to be long is never shortened. */
export function renewLease(job: Job, now: number, askedMs = 0): void {
  const spanMs = Math.max(job.leaseSpanMs ?? job.leaseMs, askedMs);
  if (job.leasePolicy !== 'presence') job.leaseUntil = Math.max(job.leaseUntil ?? 0, now + spanMs);
  else if (job.timeoutMs === null) job.timeoutAt = Math.max(job.timeoutAt ?? 0, now + spanMs);
}

/** The same for a lease that lasted for the whole of a session: from now on it lasts as long as its holder is heard from. */
export function setLease(job: Job, now: number, spanMs: number): void {
  job.leaseSpanMs = spanMs;
  job.leaseUntil = now + spanMs;
}

/** Ends a lease on a row that is already a copy. Who held it last stays, as v0 shows it on ended jobs. */
export function dropLease(job: Job): void {
  job.leaseToken = null;
  job.leaseUntil = null;
  job.leaseSpanMs = null;
  job.claimId = null;
  job.tokenUsed = false;
  job.timeoutAt = null;
}
