/** The job: one unit of work, one row. The row is narrow; input and result live in tables of their own. */

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
export type Settlement = typeof OPEN | typeof UNSETTLED | typeof SETTLED;

export type RetryMode = 'requeue' | 'lineage';
/**
 * What a lease's end means: `own` ends an attempt; `presence` looks at the worker too; under `adopt` the work may go on
 * elsewhere, so the job returns to the queue with its attempt and the next claimer looks after it.
 */
export type LeasePolicy = 'own' | 'presence' | 'adopt';
/** Whether somebody has to agree before the job may run. */
export type Approval = 'none' | 'needed' | 'given';
/** Why an attempt went wrong, where it was not the work itself. */
export type FailureCause = 'timeout' | 'stale' | 'crashed';

/** The calls that end a lease; repeating one's own is answered like the first time. */
export type EndingVerb = 'complete' | 'fail' | 'release' | 'snooze';

export interface Job {
  readonly no: number;
  readonly id: string;
  /** 0 stands for "no type", so that one index serves typed and untyped work. */
  readonly typeNo: number;
  readonly target: string;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly leaseMs: number;
  readonly timeoutMs: number | null;
  readonly retryMode: RetryMode;
  readonly retryMax: number;
  readonly backoffMs: number;
  readonly retryCount: number;
  readonly retryOf: number | null;
  /** The first job of a retry lineage; null for that first job itself. */
  readonly rootNo: number | null;
  readonly parentNo: number | null;
  readonly scheduleId: string | null;
  readonly uniqueKey: string | null;
  readonly pool: string | null;
  readonly concurrencyKey: string | null;

  state: State;
  updatedAt: number;
  attempts: number;
  fence: number;
  leaseToken: string | null;
  leaseUntil: number | null;
  leasePolicy: LeasePolicy;
  /** How long each heartbeat renews the lease, when its claim asked for more or less than the job's own. */
  leaseSpanMs: number | null;
  claimedBy: string | null;
  claimId: string | null;
  /** Once a lease was used with its token, writes without one are refused. */
  tokenUsed: boolean;
  timeoutAt: number | null;
  /** The last lease that ended, how, and where that left the job. */
  endedToken: string | null;
  endedVerb: EndingVerb | null;
  endedState: State | null;
  settled: Settlement;
  finishedAt: number | null;
  reason: string | null;
  progress: string | null;
  seq: number;

  priority: number;
  runAt: number;
  maxAttempts: number;
  cancelRequested: boolean;
  /** The slot pool this job waits for, when it is blocked by one. */
  blockedOn: string | null;
  /** How many dependencies have not settled yet. */
  waitingFor: number;
  /** Something reacts to this job's end: it must pass the settling loop. */
  watched: boolean;
  /** When the lineage's next member is due, if one is to come. */
  retryAt: number | null;
  comments: number;
  approval: Approval;
  cause: FailureCause | null;
}

/** What a person or program asked for, written once. JSON values are kept as text. */
export interface JobInput {
  readonly title: string | null;
  readonly description: string | null;
  readonly spec: string | null;
  readonly meta: string | null;
  readonly params: string | null;
  readonly tags: readonly string[];
  readonly budget: string | null;
}

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

/** What every job starts with, and a retry starts with again: nobody has held it, nothing has come of it. */
export const UNTOUCHED = {
  attempts: 0,
  fence: 0,
  leaseToken: null,
  leaseUntil: null,
  leasePolicy: 'own',
  leaseSpanMs: null,
  claimedBy: null,
  claimId: null,
  tokenUsed: false,
  timeoutAt: null,
  endedToken: null,
  endedVerb: null,
  endedState: null,
  settled: OPEN,
  finishedAt: null,
  reason: null,
  progress: null,
  cancelRequested: false,
  blockedOn: null,
  retryAt: null,
  comments: 0,
  cause: null,
} as const satisfies Partial<Job>;

/** What only those jobs have that were made with it. */
export const UNASKED = {
  timeoutMs: null,
  retryOf: null,
  rootNo: null,
  parentNo: null,
  scheduleId: null,
  uniqueKey: null,
  pool: null,
  concurrencyKey: null,
} as const satisfies Partial<Job>;
