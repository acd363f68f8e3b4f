/** What the server takes and answers. Times in answers are ISO 8601 in UTC. */

import type { FailureCause } from './errors.ts';
import type { Answer, Question } from './question-types.ts';
import type { AgentMessage } from './message-types.ts';
import type { FieldFilter, Job, NewJob, State, Status, Time } from './job-types.ts';

export type * from './job-types.ts';

export type RetryRule = NonNullable<NewJob['retry']>;

/** A job as its holder sees it. */
export interface ClaimedJob extends Job {
  /** The proof of the lease, as the claim answered it; the header X-Lease-Token does the same. */
  readonly leaseToken: string;
  /** Which claim of the job this is, from 1. */
  readonly attempt: number;
  /** How jobs of this type are done. */
  readonly sop?: string | null;
  /** JSON Schema of the type's params. */
  readonly schema?: unknown;
  /** What was answered to its questions so far, oldest first. */
  readonly answers?: readonly Answer[];
  /** There are older ones, which found no room in the answer to a claim. */
  readonly answersLeftOut?: boolean;
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
  /** The job. */
  readonly id: string;
  /** The proof of the lease, as the claim returned it. */
  readonly leaseToken?: string;
}

export interface ClaimOptions {
  /** How long the lease lasts after each sign of life. */
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
  /** The kinds of work. */
  readonly types?: readonly string[];
  /** How many at most. */
  readonly max?: number;
}

export interface ClaimNextOptions extends NextClaim {
  /** How long the server may wait for a job, at most 60,000. */
  readonly waitMs?: number;
}

/** How an attempt went wrong. */
export interface BadEnd {
  /** What went wrong: text or data. */
  readonly error?: unknown;
  /** Whether the job may be tried again; true unless said. */
  readonly requeue?: boolean;
  /** What kind of failure it was, where it was not the work itself. */
  readonly cause?: FailureCause;
  /** Wait before the next try; false unless said. The Worker class says it. */
  readonly backoff?: boolean;
}

export interface EndedAndNext {
  /** The job that has ended. */
  readonly job: EndedJob;
  /** What was claimed in the same commit. */
  readonly next: readonly ClaimedJob[];
}

export interface FinishedBatch {
  /** What became of each, in the order of the request. */
  readonly results: readonly BatchOutcome<Pick<EndedJob, 'id' | 'no' | 'status' | 'state' | 'outcome'>>[];
  /** What was claimed in the same commit. */
  readonly next: readonly ClaimedJob[];
}

export interface BatchItem extends Held {
  /** What came of it. */
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
  /** Only jobs with this word of v0. */
  readonly status?: Status;
  /** Only jobs in this state. */
  readonly state?: State;
  /** Only jobs for this worker or queue. */
  readonly target?: string;
  /** Only jobs of this type. */
  readonly type?: string;
  /** Only jobs with this tag. */
  readonly tag?: string;
  /** Words to look for. */
  readonly q?: string;
  /** By when they were made; oldest first unless said. */
  readonly order?: 'oldest' | 'newest';
  /** Jobs on one page, at most 1,000. */
  readonly limit?: number;
}

export type BulkAction = 'retry' | 'cancel' | 'redrive' | 'delete';

/** Which jobs; at least one of these. */
export type BulkFilter = Omit<JobFilter, 'order' | 'limit'>;

/** One thing done to all jobs that fit a filter, and how far that is. */
export interface Bulk {
  /** The id. */
  readonly id: string;
  /** What is done. */
  readonly action: BulkAction;
  /** How far it is. */
  readonly state: 'running' | 'done' | 'cancelled';
  /** How many jobs fitted when it was asked for. */
  readonly count: number;
  /** How many were changed so far. */
  readonly changed: number;
  /** That could not be changed, e.g. because somebody waits for them. */
  readonly refused: number;
  /** When it was made. */
  readonly createdAt: string;
  /** Who made it. */
  readonly createdBy: string;
  /** When it ended. */
  readonly endedAt: string | null;
}

export interface JobPage {
  /** The jobs. */
  readonly jobs: readonly Job[];
  /** Where the next page begins; null when this is the last. */
  readonly nextCursor: string | null;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface NewLogLine {
  /** The text. */
  readonly text: string;
  /** How much it matters. */
  readonly level?: LogLevel;
  /** When it was said; when it arrives unless said. */
  readonly at?: Time;
}

export interface LogLine {
  /** Its number in the log of the job. */
  readonly no: number;
  /** Which claim of the job said it. */
  readonly attempt: number;
  /** When it happened. */
  readonly t: string;
  /** How much it matters. */
  readonly level: LogLevel;
  /** The text. */
  readonly text: string;
}

/** What became of one claim of a job. */
export interface Attempt {
  /** Its number, from 1. */
  readonly attempt: number;
  /** Who had it. */
  readonly by: string;
  /** When it was claimed. */
  readonly startedAt: string;
  /** When it ended; null while it runs. */
  readonly endedAt: string | null;
  /** How long the job stood ready before it, in ms; null when its history does not reach back that far. */
  readonly queuedMs: number | null;
  /** How long it took, in ms; null while it runs. */
  readonly runMs: number | null;
  /** How it ended. */
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
  /** Its place among the events of the job, from 1. */
  readonly seq: number;
  /** When it happened. */
  readonly t: string;
  /** For example `job.claimed`. */
  readonly type: string;
  /** Who did it. */
  readonly by: string;
  readonly [fact: string]: unknown;
}

/** Points that are added to the priority of jobs: for each, for their tags, for each hour that they have been ready. */
export interface Scoring {
  /** For every job of the type. */
  readonly points?: number;
  /** Points for jobs with these tags. */
  readonly tags?: Readonly<Record<string, number>>;
  /** For each hour that a job has been ready. */
  readonly perHour?: number;
  /** In all, at most; 9 unless said. */
  readonly max?: number;
}

export interface JobType {
  /** Its name. */
  readonly name: string;
  /** Its name for people. */
  readonly label: string;
  /** How work of this type is done, for whoever does it. */
  readonly sop: string | null;
  /** The JSON Schema of the params of its jobs. */
  readonly paramsSchema: unknown;
  /** How often its jobs are tried again, unless they say so themselves; null where nobody has said. */
  readonly maxRetries: number | null;
  /** What its jobs have unless they say it themselves; null is as whoever reports the failure wants it. */
  readonly retry: { readonly backoffMs: number | null };
  /** How its jobs stand among those of the same priority; null where the older goes first. */
  readonly scoring: Scoring | null;
  /** Whose limits its jobs run into: one that is reported parks all types of that provider. */
  readonly provider: string | null;
  /** Whether it is in use. */
  readonly active: boolean;
  /** When it was made. */
  readonly createdAt: string;
  /** When it was changed last. */
  readonly updatedAt: string;
}

export interface NewJobType {
  /** Its name for people. */
  readonly label?: string;
  /** How work of this type is done, for whoever does it. */
  readonly sop?: string | null;
  /** The JSON Schema of the params of its jobs. */
  readonly paramsSchema?: unknown;
  /** How often its jobs are tried again. */
  readonly maxRetries?: number | null;
  /** What its jobs have unless they say it themselves. */
  readonly retry?: { readonly backoffMs?: number | null };
  /** The points by which its jobs go before others of the same priority. */
  readonly scoring?: Scoring | null;
  /** Whose limits its jobs share. */
  readonly provider?: string | null;
}

export interface Pool {
  /** Its name. */
  readonly name: string;
  /** How many jobs may run at once. */
  readonly capacity: number;
  /** How many may run at once for one concurrencyKey. */
  readonly perKey: number;
  /** How many are held. */
  readonly running: number;
  /** How many jobs wait for it. */
  readonly waiting: number;
}

export interface Pause {
  /** Whether it is a target, a type, a provider or a door. */
  readonly kind: 'target' | 'type' | 'door' | 'provider';
  /** Its name. */
  readonly name: string;
  /** Since when. */
  readonly since: string;
  /** Who paused it. */
  readonly by: string;
  /** When it ends by itself; null when somebody has to end it. */
  readonly until: string | null;
}

/** What was taken in tokens and money. */
export interface Usage {
  /** Tokens that models read. */
  readonly inputTokens: number;
  /** Tokens that models wrote. */
  readonly outputTokens: number;
  /** Tokens in all. */
  readonly totalTokens: number;
  /** In dollars. */
  readonly costUsd: number;
}

export interface DayUsage {
  /** As its date is written. */
  readonly day: string;
  /** Each type of that day. */
  readonly types: readonly (Usage & { readonly type: string | null; readonly attempts: number })[];
  /** What the server itself has asked a model about failures. */
  readonly advice: { readonly calls: number; readonly inputTokens: number; readonly outputTokens: number };
}

/** What a type may take in a day; null where that is not bounded. */
export interface Budget {
  /** Of which type. */
  readonly type: string;
  /** How many tokens its jobs may use in a day. */
  readonly tokens: number | null;
  /** How many dollars they may cost in a day. */
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
  /** How many jobs are in each state. */
  readonly states: Readonly<Record<State, number>>;
  /** How many jobs each target has in each state. */
  readonly targets: Readonly<Record<string, Partial<Record<State, number>>>>;
  /** Workers that wait for a job right now. */
  readonly waitingClaims: number;
}

export interface Me {
  /** Whose token it is. */
  readonly name: string;
  /** What kind of caller that is. */
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
  /** Whether it is well. */
  readonly ok: boolean;
  /** Where it stands. */
  readonly status: string;
  /** The time of the server. */
  readonly time: string;
  /** The version of the server. */
  readonly version: string;
}

export interface Readiness {
  /** Whether it can take work now. */
  readonly ready: boolean;
  /** One word: starting, stopping, database, disk_full or slow. */
  readonly reason: string | null;
  /** Why not, in a sentence. */
  readonly message: string | null;
}

export interface BlobInfo {
  /** The id. */
  readonly id: string;
  /** What the file is called. */
  readonly filename: string;
  /** How many bytes it has. */
  readonly size: number;
  /** The SHA-256 of its bytes. */
  readonly sha256: string;
}

/** A file that belongs to a job. */
export interface Artifact extends BlobInfo {
  /** The media type. */
  readonly contentType: string;
  /** When it was uploaded. */
  readonly createdAt: string;
  /** Who uploaded it. */
  readonly createdBy: string;
}

/** An event of the live feed. */
export interface FeedEvent {
  /** Where to go on after it. */
  readonly id: string;
  /** What kind it is. */
  readonly type: string;
  /** What was asked for, or what is left for the next holder. */
  readonly data: JobEvent & { readonly jobId: string; readonly no: number; readonly target: string };
}
