/** What happens after an attempt went wrong. Pure, so that every door and every loop agree. */

import { admit } from './admit.ts';
import { type FailureCause, isFinal, type Job, OPEN, SETTLED, type State, UNSETTLED } from './job.ts';
import { dropLease } from './lease.ts';
import { ownPriority } from './priority.ts';
import { countsInStreak } from './streak.ts';

/** Waiting times stop doubling here. */
const BACKOFF_CEILING_MS = 3_600_000;

/** Whether each retry of it is a job of its own. Under `presence` that is so for every job, wherever it was made. */
export function hasLineage({ retryMode, leasePolicy }: Pick<Job, 'retryMode' | 'leasePolicy'>): boolean {
  return retryMode === 'lineage' || leasePolicy === 'presence';
}

/** How often a job may be tried again, and how often it was: the same job, or the next of its lineage. */
export function retries(job: Job): { readonly max: number; readonly count: number } {
  if (hasLineage(job)) return { max: job.retryMax, count: job.retryCount };
  return { max: job.maxAttempts - 1, count: Math.max(0, job.attempts - 1) };
}

/** `failed` when nobody wants it again, `dead` when the attempts are used up. */
export function afterFailure(job: Job, requeue: boolean): 'queued' | 'failed' | 'dead' {
  if (hasLineage(job)) return requeue && job.retryCount >= job.retryMax ? 'dead' : 'failed';
  if (job.attempts >= job.maxAttempts) return 'dead';
  return requeue ? 'queued' : 'failed';
}

/** How long a job waits after its first failure when its worker wants it to wait and nobody said how long. */
const USUAL_BACKOFF_MS = 10_000;

/**
 * How long to wait before the next try. Many jobs fail together when what they need is away: a worker spreads them over
 * half to one and a half of the time, by `spread` from 0 to 1, and never beyond the longest. Without it the job's own word
 * counts to the millisecond.
 */
function retryDelayMs({ backoffMs, scheduleId }: Job, failures: number, spread: number | null): number {
  // A schedule says when its retries come.
  if (spread === null || scheduleId !== null) return backoffDelayMs(backoffMs ?? 0, failures);
  const baseMs = backoffMs ?? USUAL_BACKOFF_MS;
  const middleMs = backoffDelayMs(baseMs, failures);
  const shortestMs = middleMs / 2;
  const longestMs = Math.min(middleMs * 1.5, Math.max(baseMs, BACKOFF_CEILING_MS));
  return Math.round(shortestMs + spread * (longestMs - shortestMs));
}

/** base, 2 x base, 4 x base … up to an hour; 0 means at once. */
export function backoffDelayMs(baseMs: number, failures: number): number {
  return Math.min(baseMs * 2 ** Math.max(0, failures - 1), Math.max(baseMs, BACKOFF_CEILING_MS));
}

/** Moves a copied row to where a failed attempt leaves it. */
export function endBadly(
  job: Job,
  requeue: boolean,
  now: number,
  cause: FailureCause | null = null,
  spread: number | null = null,
): State {
  if (job.cancelRequested) return finish(job, 'cancelled', now);
  if (cause === 'crashed' && job.retryMode === 'lineage') return endCrashed(job, requeue, now);
  const end = afterFailure(job, requeue);
  if (end === 'queued') return requeueAfter(job, retryDelayMs(job, job.attempts, spread), now);
  const retryComes = hasLineage(job) && end === 'failed' && requeue;
  job.retryAt = retryComes ? now + retryDelayMs(job, job.retryCount + 1, spread) : null;
  job.cause = cause;
  return finish(job, end, now);
}

/** Nobody's fault: it is done again at once, without using up a retry, or not at all. */
function endCrashed(job: Job, again: boolean, now: number): State {
  job.retryAt = again ? now : null;
  job.cause = 'crashed';
  return finish(job, 'failed', now);
}

export function requeueAfter(job: Job, delayMs: number, now: number): State {
  dropLease(job);
  job.claimedBy = null;
  job.startedAt = null;
  job.state = delayMs > 0 ? 'scheduled' : 'queued';
  if (delayMs > 0) job.runAt = now + delayMs;
  job.updatedAt = now;
  return job.state;
}

/** Ends a copied row for good, and marks it unsettled when something waits for its end. */
export function finish(job: Job, state: State, now: number): State {
  dropLease(job);
  job.state = state;
  job.updatedAt = now;
  job.finishedAt = now;
  job.blockedOn = null;
  job.question = null;
  job.priority = ownPriority(job.priority);
  job.settled = needsReaction(job) ? UNSETTLED : SETTLED;
  return state;
}

function needsReaction(job: Job): boolean {
  if (job.watched || job.retryAt !== null || job.rootNo !== null || job.scheduleId !== null) return true;
  return countsInStreak(job);
}

/** Opens a copied final row again, by an operator's hand. */
export function reopen(job: Job, now: number): void {
  job.claimedBy = null;
  job.startedAt = null;
  job.updatedAt = now;
  job.finishedAt = null;
  job.settled = OPEN;
  job.runAt = Math.min(job.runAt, now);
  job.state = admit(job, now);
  job.retryAt = null;
  job.startBefore = null;
  job.cancelRequested = false;
  job.cause = null;
  job.review = 'none';
}

/**
 * Whether the lineage goes on with a new job, so that this one must stay as it is. Under `presence` whoever is quick enough
 * may have it back in the queue instead.
 */
export function wasRetried(job: Job): boolean {
  const mayTurnBack = job.leasePolicy === 'presence' && job.settled !== SETTLED;
  return isFinal(job.state) && job.retryAt !== null && !mayTurnBack;
}
