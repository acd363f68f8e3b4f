/** What the server takes and answers. Times in answers are ISO 8601 in UTC. */

import type { FailureCause } from './errors.ts';
import type { Answer, Question } from './question-types.ts';
import type { AgentMessage } from './message-types.ts';
import type { FieldFilter, Job, NewJob, State, Status, Time } from './job-types.ts';

export type * from './job-types.ts';

export type RetryRule = NonNullable<NewJob['retry']>;

/** What can be said anew of a job that nobody holds; what is left out stays. */
export type JobChange = Pick<NewJob, 'priority' | 'runAt' | 'params' | 'tags'>;

/** A job as its holder sees it. */
export interface ClaimedJob extends Job {
  readonly leaseToken: string;
  readonly attempt: number;
  /** How jobs of this type are done. */
  readonly sop?: string | null;
  /** JSON Schema of the type's params. */
  readonly schema?: unknown;
  /** What was answered to its questions so far, oldest first. */
  readonly answers?: readonly Answer[];
  /** What an earlier holder left for this one. */
  readonly checkpoint?: unknown;
  /** The results of the jobs in its `after`, by their ids; where one was retried by new jobs, that of the last. */
  readonly inputs?: Readonly<Record<string, unknown>>;
  /** Those whose results are too large for the answer to a claim. */
  readonly inputsLeftOut?: readonly string[];
  /** What others have sent to the claimer; `onMessage` gets them too. */
  readonly messages?: readonly AgentMessage[];
}

/** The answer to a heartbeat: how a worker hears from the others. */
export interface Beat extends Job {
  /** Messages to the worker that it has not seen yet. */
  readonly messages?: readonly AgentMessage[];
}

/** The job after a call that ended a lease. */
export interface EndedJob extends Job {
  /** Set when the call was a repetition: how the first one ended. */
  readonly outcome?: { readonly verb: string; readonly status: Status };
}

/** The job after a wait. */
export interface AwaitedJob extends Job {
  /** It has ended, and no retry will come. */
  readonly ended: boolean;
  /** The id of the job that does it again, where its retries are jobs of their own. */
  readonly lastOfLineage?: string;
}

/** The job after it has asked: it waits, with the question. */
export interface AskedJob extends EndedJob {
  /** Missing when somebody had cancelled the job: then it has ended. */
  readonly asked?: Question;
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
  /** What the claimer can do: it gets no job that requires more. */
  readonly capabilities?: readonly string[];
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
  /** Wait before the next try; false unless said. The Worker class says it. */
  readonly backoff?: boolean;
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

export interface JobFilter extends FieldFilter {
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

export type BulkAction = 'retry' | 'cancel' | 'redrive' | 'delete';

/** Which jobs; at least one of these. */
export type BulkFilter = Omit<JobFilter, 'order' | 'limit'>;

/** One thing done to all jobs that fit a filter, and how far that is. */
export interface Bulk {
  readonly id: string;
  readonly action: BulkAction;
  readonly state: 'running' | 'done' | 'cancelled';
  /** How many jobs fitted when it was asked for. */
  readonly count: number;
  readonly changed: number;
  /** That could not be changed, e.g. because somebody waits for them. */
  readonly refused: number;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly endedAt: string | null;
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

/** What became of one claim of a job. */
export interface Attempt {
  readonly attempt: number;
  readonly by: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly outcome:
    | 'running'
    | 'done'
    | 'failed'
    | 'released'
    | 'expired'
    | 'timeout'
    | 'snoozed'
    | 'asked'
    | 'cancelled'
    | 'lost';
}

export interface JobEvent {
  readonly seq: number;
  readonly t: string;
  /** For example `job.claimed`. */
  readonly type: string;
  readonly by: string;
  readonly [fact: string]: unknown;
}

/** Points that are added to the priority of jobs: for each, for their tags, for each hour that they have been ready. */
export interface Scoring {
  readonly points?: number;
  readonly tags?: Readonly<Record<string, number>>;
  readonly perHour?: number;
  /** In all, at most; 9 unless said. */
  readonly max?: number;
}

export interface JobType {
  readonly name: string;
  readonly label: string;
  readonly sop: string | null;
  readonly paramsSchema: unknown;
  /** How many jobs may follow a failed one, where each retry is a job of its own. */
  readonly maxRetries: number;
  /** What its jobs have unless they say it themselves; null is as whoever reports the failure wants it. */
  readonly retry: { readonly backoffMs: number | null };
  /** How its jobs stand among those of the same priority; null where the older goes first. */
  readonly scoring: Scoring | null;
  /** Whose limits its jobs run into: one that is reported parks all types of that provider. */
  readonly provider: string | null;
  readonly active: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface NewJobType {
  readonly label?: string;
  readonly sop?: string | null;
  readonly paramsSchema?: unknown;
  readonly maxRetries?: number;
  /** What its jobs have unless they say it themselves. */
  readonly retry?: { readonly backoffMs?: number | null };
  readonly scoring?: Scoring | null;
  readonly provider?: string | null;
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
  readonly kind: 'target' | 'type' | 'door' | 'provider';
  readonly name: string;
  readonly since: string;
  readonly by: string;
  /** When it ends by itself; null when somebody has to end it. */
  readonly until: string | null;
}

/** What was taken in tokens and money. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly costUsd: number;
}

export interface DayUsage {
  /** As its date is written. */
  readonly day: string;
  readonly types: readonly (Usage & { readonly type: string | null; readonly attempts: number })[];
  /** What the server itself has asked a model about failures. */
  readonly advice: { readonly calls: number; readonly inputTokens: number; readonly outputTokens: number };
}

/** What a type may take in a day; null where that is not bounded. */
export interface Budget {
  readonly type: string;
  readonly tokens: number | null;
  readonly costUsd: number | null;
  /** Its type is paused by it. */
  readonly usedUp: boolean;
  /** How often it was raised by itself today. */
  readonly raised: number;
  /** Its type stays paused tomorrow, too. */
  readonly held: boolean;
  /** Of today. */
  readonly used: Usage;
}

export interface Stats {
  readonly states: Readonly<Record<State, number>>;
  readonly targets: Readonly<Record<string, Partial<Record<State, number>>>>;
  /** Workers that wait for a job right now. */
  readonly waitingClaims: number;
}

export interface Me {
  readonly name: string;
  readonly role: 'head' | 'worker' | 'viewer' | 'run';
  /** Which targets it serves; null is all. */
  readonly targets: readonly string[] | null;
  /** Kinds of messages that it may send beside the usual ones. */
  readonly grants: readonly string[];
  /** The one job that a token of a run is for. */
  readonly job?: string;
  /** The operationIds of the calls that it may make. */
  readonly may: readonly string[];
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
