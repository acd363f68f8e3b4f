/** What the server takes and answers. Times in answers are ISO 8601 in UTC. */

import type { FailureCause } from './errors.ts';

/** The words of v0, the same for ever. */
export type Status = 'queued' | 'running' | 'done' | 'failed' | 'dead';

/** The native states, which say more. */
export type State =
  | 'scheduled'
  | 'blocked'
  | 'awaiting_approval'
  | 'queued'
  | 'running'
  | 'done'
  | 'failed'
  | 'dead'
  | 'cancelled'
  | 'skipped';

/** ISO 8601 with its zone, epoch milliseconds, or a Date. */
export type Time = string | number | Date;

export interface RetryRule {
  /** `requeue` runs the same job again; `lineage` makes a new job for every retry. */
  readonly mode?: 'requeue' | 'lineage';
  readonly max?: number;
  readonly backoffMs?: number;
}

export interface Dependency {
  readonly job: string;
  readonly on?: 'success' | 'failure' | 'complete';
}

export interface NewJob {
  /** Who may do it: a worker, a queue, or `any`. Without one it is `left-claw`. */
  readonly target?: string;
  readonly type?: string;
  /** Higher is sooner; 0 unless said. */
  readonly priority?: number;
  readonly title?: string;
  readonly description?: string;
  readonly spec?: unknown;
  readonly meta?: unknown;
  readonly params?: unknown;
  readonly budget?: unknown;
  readonly tags?: readonly string[];
  readonly runAt?: Time;
  /** How long one attempt may take. */
  readonly timeoutMs?: number;
  /** How long a worker may be silent. */
  readonly leaseMs?: number;
  readonly maxAttempts?: number;
  readonly retry?: RetryRule;
  /** Only one unfinished job of a type may have it. */
  readonly uniqueKey?: string;
  readonly after?: readonly (string | Dependency)[];
  readonly pool?: string;
  readonly concurrencyKey?: string;
  /** Somebody has to agree before it runs; within an hour unless said, else it is rejected. */
  readonly approval?: { readonly timeoutS?: number; readonly auto?: 'approve' | 'reject' };
  /** The running job that asks for this one; workers need it, head does not. */
  readonly parentId?: string;
}

export interface Comment {
  readonly t: string;
  readonly by: string;
  readonly text: string;
}

export interface Job {
  readonly id: string;
  /** The short number that people say and type. */
  readonly no: number;
  readonly target: string;
  readonly status: Status;
  readonly state: State;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly createdBy: string;
  readonly claimedBy: string | null;
  readonly leaseUntil: string | null;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly comments: readonly Comment[];
  readonly priority: number;
  readonly leaseMs: number;
  readonly tags: readonly string[];
  readonly spec: unknown;
  readonly meta: unknown;
  readonly result: unknown;
  readonly error: unknown;
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly params?: unknown;
  readonly budget?: unknown;
  readonly progress?: unknown;
  readonly runAt?: string;
  readonly finishedAt?: string;
  readonly timeoutMs?: number;
  readonly retry?: {
    readonly mode: 'requeue' | 'lineage';
    readonly max: number;
    readonly backoffMs: number;
    readonly count: number;
  };
  readonly retryOf?: string;
  readonly retryAt?: string;
  readonly uniqueKey?: string;
  readonly pool?: string;
  readonly concurrencyKey?: string;
  readonly blockedOn?: string;
  readonly waitingFor?: number;
  readonly parentId?: string;
  readonly scheduleId?: string;
  /** Whether somebody has to agree before it runs, or has. */
  readonly approval?: 'needed' | 'given';
  /** What kind of failure it was, when it is known. */
  readonly cause?: 'timeout' | 'stale' | 'crashed';
  readonly cancelRequested?: boolean;
  readonly reason?: string;
  readonly releaseReason?: string;
}

/** A job as its holder sees it. */
export interface ClaimedJob extends Job {
  readonly leaseToken: string;
  readonly attempt: number;
  /** How jobs of this type are done. */
  readonly sop?: string | null;
  /** JSON Schema of the type's params. */
  readonly schema?: unknown;
}

/** The answer to a heartbeat: how a worker hears from the others. */
export interface Beat extends Job {
  /** Messages to the worker that it has not seen yet. */
  readonly messages?: readonly unknown[];
}

/** The job after a call that ended a lease. */
export interface EndedJob extends Job {
  /** Set when the call was a repetition: how the first one ended. */
  readonly outcome?: { readonly verb: string; readonly status: Status };
}

/** Names a job, and proves the right to it. A claimed job is one. */
export interface Held {
  readonly id: string;
  readonly leaseToken?: string;
}

export interface ClaimOptions {
  readonly leaseMs?: number;
  /** Repeating a claim under the same id, while its lease lasts, answers the same jobs. Made anew when not given. */
  readonly claimId?: string;
}

/** Claims taken together with the end of another job. */
export interface NextClaim extends ClaimOptions {
  /** Those of the token when not given. */
  readonly targets?: readonly string[];
  readonly types?: readonly string[];
  readonly max?: number;
}

export interface ClaimNextOptions extends NextClaim {
  /** How long the server may wait for a job, at most 60,000. */
  readonly waitMs?: number;
}

/** How an attempt went wrong. */
export interface BadEnd {
  readonly error?: unknown;
  /** Whether the job may be tried again; true unless said. */
  readonly requeue?: boolean;
  /** What kind of failure it was, where it was not the work itself. */
  readonly cause?: FailureCause;
}

export interface EndedAndNext {
  readonly job: EndedJob;
  readonly next: readonly ClaimedJob[];
}

export interface FinishedBatch {
  readonly results: readonly BatchOutcome<Pick<EndedJob, 'id' | 'no' | 'status' | 'state' | 'outcome'>>[];
  readonly next: readonly ClaimedJob[];
}

export interface BatchItem extends Held {
  readonly result?: unknown;
}

/** What became of one item of a batch: the job, or why not. */
export type BatchOutcome<J = EndedJob> =
  | { readonly id: string; readonly ok: true; readonly job: J }
  | {
      readonly id: string;
      readonly ok: false;
      readonly error: string;
      readonly message: string;
      readonly retryable: boolean;
      readonly hint: string;
    };

export interface JobFilter {
  readonly status?: Status;
  readonly state?: State;
  readonly target?: string;
  readonly type?: string;
  readonly tag?: string;
  /** Words to look for. */
  readonly q?: string;
  readonly order?: 'oldest' | 'newest';
  /** Jobs on one page, at most 1,000. */
  readonly limit?: number;
}

export interface JobPage {
  readonly jobs: readonly Job[];
  readonly nextCursor: string | null;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface NewLogLine {
  readonly text: string;
  readonly level?: LogLevel;
  readonly at?: Time;
}

export interface LogLine {
  readonly no: number;
  readonly attempt: number;
  readonly t: string;
  readonly level: LogLevel;
  readonly text: string;
}

export interface JobEvent {
  readonly seq: number;
  readonly t: string;
  /** For example `job.claimed`. */
  readonly type: string;
  readonly by: string;
  readonly [fact: string]: unknown;
}

export interface JobType {
  readonly name: string;
  readonly label: string;
  readonly sop: string | null;
  readonly paramsSchema: unknown;
  readonly active: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface NewJobType {
  readonly label?: string;
  readonly sop?: string | null;
  readonly paramsSchema?: unknown;
}

export interface Pool {
  readonly name: string;
  readonly capacity: number;
  /** How many may run at once for one concurrencyKey. */
  readonly perKey: number;
  readonly running: number;
  readonly waiting: number;
}

export interface Pause {
  readonly kind: 'target' | 'type';
  readonly name: string;
  readonly since: string;
  readonly by: string;
}

export interface Stats {
  readonly states: Readonly<Record<State, number>>;
  readonly targets: Readonly<Record<string, Partial<Record<State, number>>>>;
  /** Workers that wait for a job right now. */
  readonly waitingClaims: number;
}

export interface Health {
  readonly ok: boolean;
  readonly status: string;
  readonly time: string;
  readonly version: string;
}

export interface Readiness {
  readonly ready: boolean;
  /** One word: starting, stopping, database, disk_full or slow. */
  readonly reason: string | null;
  readonly message: string | null;
}

export interface BlobInfo {
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly sha256: string;
}

/** A file that belongs to a job. */
export interface Artifact extends BlobInfo {
  readonly contentType: string;
  readonly createdAt: string;
  readonly createdBy: string;
}

/** An event of the live feed. */
export interface FeedEvent {
  /** Where to go on after it. */
  readonly id: string;
  readonly type: string;
  readonly data: JobEvent & { readonly jobId: string; readonly no: number; readonly target: string };
}
