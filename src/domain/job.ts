/** The job: one unit of work, one row. Its input and its result live in tables of their own. */

import type { JobRow } from './job-fields.ts';
import type { InputRow } from './job-input.ts';

export const STATES = [
  'scheduled',
  'blocked',
  'awaiting_approval',
  'queued',
  'running',
  'done',
  'failed',
  'dead',
  'cancelled',
  'skipped',
] as const;
export type State = (typeof STATES)[number];

export const FINAL_STATES = ['done', 'failed', 'dead', 'cancelled', 'skipped'] as const satisfies State[];
export const OPEN_STATES = [
  'scheduled',
  'blocked',
  'awaiting_approval',
  'queued',
  'running',
] as const satisfies State[];

export function isFinal(state: State): boolean {
  return (FINAL_STATES as readonly State[]).includes(state);
}

/** Finished is not settled: a retry may still come, and dependents wait for the end of those. */
export const OPEN = 0;
export const UNSETTLED = 1;
export const SETTLED = 2;
/** Unsettled, until somebody has said what to make of the failure. */
export const CONSULTING = 3;
export type Settlement = typeof OPEN | typeof UNSETTLED | typeof SETTLED | typeof CONSULTING;

export type Job = JobRow;
export type RetryMode = Job['retryMode'];
/**
 * What a lease's end means: `own` ends an attempt; under `adopt` the work may go on elsewhere, so the job returns to the
 * queue with its attempt and the next claimer looks after it. Under `presence` the holder only has to be heard from, about
 * this job or anything else: after `leaseUntil` the job is lost once its holder has been silent for long. Each attempt that
 * ends badly under it is the last of its job: a retry is a new one, whatever the job's own mode.
 */
export type LeasePolicy = Job['leasePolicy'];
/** Why an attempt went wrong, where it was not the work itself. */
export type FailureCause = NonNullable<Job['cause']>;
/** The calls that end a lease; repeating one's own is answered like the first time. */
export type EndingVerb = NonNullable<Job['endedVerb']>;

/** What a person or program asked for, beside the row. */
export type JobInput = InputRow;

export interface JobComment {
  readonly at: number;
  readonly by: string;
  readonly text: string;
}

/** What the last end of a job left. */
export interface Outcome {
  readonly result: string | null;
  readonly error: string | null;
}

export const NO_OUTCOME: Outcome = { result: null, error: null };

/** Everything about one job that does not live in its row. */
export interface JobDetails extends Outcome {
  readonly input: JobInput;
  readonly comments: readonly JobComment[];
  readonly typeName: string | null;
  /** Public ids of the jobs this row names by number. */
  readonly retryOfId: string | null;
  readonly parentId: string | null;
}

/** The lineage a job belongs to. */
export function rootOf(job: Job): number {
  return job.rootNo ?? job.no;
}
