/** What of a job's row may change, and the order in which it stands in the journal. */

import type { Job } from './job.ts';

/** Journals have been written in this order: a new field goes to the end. */
export const CHANGING = [
  'state',
  'updatedAt',
  'attempts',
  'fence',
  'leaseToken',
  'leaseUntil',
  'leasePolicy',
  'leaseSpanMs',
  'claimedBy',
  'claimId',
  'tokenUsed',
  'timeoutAt',
  'endedToken',
  'endedVerb',
  'endedState',
  'settled',
  'finishedAt',
  'reason',
  'progress',
  'seq',
  'priority',
  'runAt',
  'maxAttempts',
  'cancelRequested',
  'blockedOn',
  'waitingFor',
  'watched',
  'retryAt',
  'comments',
  'approval',
  'cause',
] as const satisfies readonly (keyof Job)[];

export type ChangingJob = Pick<Job, (typeof CHANGING)[number]>;
/** What never changes about a job. */
export type FixedJob = Omit<Job, 'no' | keyof ChangingJob>;
