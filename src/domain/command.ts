/** Commands are data: what somebody wants done to jobs. Decided in batches, committed together. */

import type { ApprovalAuto } from './approval.ts';
import type { Refusal } from './error.ts';
import type { EventDraft } from './event.ts';
import type { AskedJob, RowRewording } from './job-fields.ts';
import type { InputRewording } from './job-input.ts';
import type { EndingVerb, FailureCause, Job, JobInput, LeasePolicy, State } from './job.ts';
import type { Question, QuestionDraft } from './question.ts';
import type { Grant, Message } from './message.ts';
import type { ProviderLimit } from './provider-limit.ts';
import type { RunNote } from './run.ts';
import type { Usage } from './usage.ts';

export interface Actor {
  readonly name: string;
  /** `run` is the work itself: it may act on its own job and create children, and nothing else. */
  readonly role: 'head' | 'worker' | 'viewer' | 'run' | 'system';
  /** The targets an actor may see and serve; null means all. */
  readonly targets: readonly string[] | null;
  /** The one job that a `run` may touch. */
  readonly onlyJob?: string;
  /** Kinds of messages that it may send to other agents, beside those that need no grant. */
  readonly grants?: readonly Grant[];
  /** A worker of the server's own: no agent, and nobody sends it messages. */
  readonly builtIn?: true;
  /** The agent at a gateway for which a `run` speaks. */
  readonly agent?: string;
  /** The lease by which a `run` was recognised. */
  readonly leaseToken?: string;
  /** Recognised by a token that stands in a prompt, where others may read it: it opens few routes. */
  readonly shown?: true;
}

/** What a claimer asks for, the same for every job that it gets. */
export interface LeaseTerms {
  readonly leaseMs: number | null;
  readonly policy: LeasePolicy;
  /** Under `presence`: how long the holder may say nothing of the job, however often it is heard otherwise. */
  readonly limitMs?: number;
  readonly claimId: string | null;
  /** What the claimer says it can do. */
  readonly capabilities: readonly string[];
}

/** What a claim would start: made before the decision, so that deciding stays pure. */
export interface LeaseOffer extends LeaseTerms {
  readonly token: string;
}

interface OnJob {
  readonly id: string;
  readonly actor: Actor;
}
interface Held extends OnJob {
  readonly leaseToken: string | null;
  /** Ids of the messages that have arrived; unless said, all that were handed out under the lease. */
  readonly received?: readonly string[];
  /** What the claim took so far, where its holder says so. */
  readonly usage?: Usage;
}

export interface Claim extends OnJob {
  readonly kind: 'claim';
  readonly offer: LeaseOffer;
  /** Somebody else takes it for the holder and gets the answer: what the holder is to be told does not go with it. */
  readonly byAnother?: true;
}
export interface Heartbeat extends Held {
  readonly kind: 'heartbeat';
  readonly progress: string | null;
  /** How long the lease is to last at least. */
  readonly leaseMs?: number;
  /** How long it is to last from now on, however long it was asked to be before. */
  readonly spanMs?: number;
}
export interface Complete extends Held {
  readonly kind: 'complete';
  readonly result: string | null;
  /** What was reported before is what came of it. */
  readonly keepsResult?: true;
}
export interface Fail extends Held {
  readonly kind: 'fail';
  readonly error: string | null;
  readonly requeue: boolean;
  /** Set by workers that know more than that the work went wrong. */
  readonly cause: FailureCause | null;
  /** Wait before the next try, this far into the spread of such waits, from 0 to 1; null leaves it to the job. */
  readonly spread: number | null;
  readonly keepsResult?: true;
  /** It has met the limit of its provider: it is no failure of the job, which waits for the end of it. */
  readonly limit?: ProviderLimit;
}
/** What has come of the work so far; the last one counts. */
export interface Report extends Held {
  readonly kind: 'report';
  readonly result: string;
}
export interface Release extends Held {
  readonly kind: 'release';
  readonly reason: string | null;
  /** The claim never reached its claimer, so that it was no attempt. */
  readonly unanswered?: true;
}
export interface Snooze extends Held {
  readonly kind: 'snooze';
  readonly untilAt: number;
}
/** Ends the lease until somebody has answered. */
export interface Ask extends Held {
  readonly kind: 'ask';
  readonly question: QuestionDraft;
}
/** What the next holder is to know, as JSON; the last one counts. */
export interface Checkpoint extends Held {
  readonly kind: 'checkpoint';
  readonly value: string;
}
export interface Log extends Held {
  readonly kind: 'log';
  readonly lines: readonly LogLine[];
}
/** What the holder wants to be found after a crash. */
export interface Note extends Held {
  readonly kind: 'note';
  readonly note: RunNote;
}
export interface Comment extends OnJob {
  readonly kind: 'comment';
  readonly text: string;
}
export interface Cancel extends OnJob {
  readonly kind: 'cancel';
  readonly reason: string | null;
}
export interface Retry extends OnJob {
  readonly kind: 'retry';
  /** It is opened only to end otherwise: what came of it stays. */
  readonly keepsResult?: true;
}
export interface Redrive extends OnJob {
  readonly kind: 'redrive';
}
/** More about a job, beside what was asked for. */
export interface Edit extends OnJob {
  readonly kind: 'edit';
  /** Joins what the job's meta says already; JSON of an object. */
  readonly metadata: string | null;
  /** Whether somebody still has to look at what was done. */
  readonly review: Job['review'] | null;
  /** Why, in words. */
  readonly note: string | null;
  /** Change nothing unless this command of the same flush is accepted. */
  readonly onlyIf: JobCommand | null;
  /** Set where a caller says the metadata: where it does not fit, it is refused, and these commands of its call are, too. */
  readonly refusedWith?: readonly JobCommand[];
}
/** What is asked for, said anew; what is left out stays as it was said. A moment that is over means at once. */
export type Rewording = RowRewording & InputRewording;
export interface Reword extends OnJob {
  readonly kind: 'reword';
  readonly asked: Rewording;
  /** Only while nobody holds the job and it has not ended. */
  readonly waiting?: true;
}
/** The loops' own commands: each looks again at the locked row, so two servers may both send one. */
export interface Expire extends OnJob {
  readonly kind: 'expire';
  /** Its holder is known to be gone, however long its lease would have lasted. */
  readonly orphaned?: true;
  /** Its holder, called so by people, was not heard from for so long that a lease under `presence` ends. */
  readonly absent?: { readonly worker: string };
  /** The lease that was judged: one that was given out since is left alone. */
  readonly leaseToken?: string;
}
export interface TimeOut extends OnJob {
  readonly kind: 'timeout';
}
export interface Admit extends OnJob {
  readonly kind: 'admit';
}
/** Ends a job that nobody took in time. */
export interface Lapse extends OnJob {
  readonly kind: 'lapse';
}

export type JobCommand =
  | Claim
  | Heartbeat
  | Complete
  | Fail
  | Report
  | Release
  | Snooze
  | Ask
  | Checkpoint
  | Log
  | Note
  | Comment
  | Cancel
  | Retry
  | Redrive
  | Edit
  | Reword
  | Expire
  | TimeOut
  | Admit
  | Lapse;

export interface LogLine {
  readonly at: number;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
}
export interface StoredLog extends LogLine {
  readonly no: number;
  readonly attempt: number;
}

/** What is to be created. Defaults are filled in at the door; ids are made before the decision. */
export interface NewJob {
  readonly id: string;
  readonly asked: AskedJob;
  /** What the scoring of its type has added to its priority. */
  readonly points: Pick<Job, 'score' | 'scoreAt'>;
  /** The running job that asks for this one. */
  readonly parentId: string | null;
  readonly after: readonly Dependency[];
  readonly approvalTerms: ApprovalTerms | null;
  readonly input: JobInput;
}

/** Somebody has to agree before the job runs; after the time is up the policy decides. */
export interface ApprovalTerms {
  readonly timeoutMs: number;
  readonly auto: ApprovalAuto;
}

export type DependencyOn = 'success' | 'failure' | 'complete';
export interface Dependency {
  readonly id: string;
  readonly on: DependencyOn;
}
export interface JobDependency {
  readonly jobNo: number;
  readonly parentNo: number;
  readonly parentId: string;
  readonly on: DependencyOn;
  /** The parent's lineage has ended. */
  readonly met: boolean;
}

/** All or nothing: one job that cannot be made refuses its whole command. */
export interface Create {
  readonly kind: 'create';
  readonly actor: Actor;
  readonly jobs: readonly NewJob[];
  readonly idempotency: Idempotency | null;
}
export interface Idempotency {
  readonly principal: string;
  readonly key: string;
  readonly bodyHash: string;
}

/** How many jobs may run at once at one place that several servers send work to. */
export interface GatewaySlots {
  readonly target: string;
  readonly count: number;
}

/** Take the best ready jobs of the named targets. */
export interface ClaimNext {
  readonly kind: 'claimNext';
  readonly actor: Actor;
  readonly targets: readonly string[];
  /** The door at which is claimed: it may be paused. */
  readonly door?: string;
  readonly typeNos: readonly number[] | null;
  readonly max: number;
  /** How much the jobs may hold together, the first in any case; as much as an answer unless said. */
  readonly maxBytes?: number;
  readonly terms: LeaseTerms;
  /** Of each job taken one slot is held until it ends; null where nothing but the claimers bounds them. */
  readonly gatewaySlots: GatewaySlots | null;
  /** Take nothing unless this command of the same flush is accepted: "I am done with that one, give me the next". */
  readonly onlyIf: JobCommand | null;
}

export type Command = JobCommand | Create | ClaimNext;

/** What a decision leaves behind, besides the row and its events. */
export interface SideWrites {
  /** A result that is left out stays as it is. */
  readonly outcome?: { readonly result?: string | null; readonly error: string | null };
  readonly comment?: string;
  readonly logs?: readonly LogLine[];
  readonly note?: RunNote;
  readonly question?: Omit<Question, 'no'>;
  readonly checkpoint?: string;
  /** What joins the job's meta, as JSON. */
  readonly metadata?: string;
  readonly asked?: Rewording;
}

export interface Accepted {
  readonly ok: true;
  readonly job: Job;
  /** Set when this repeats a call that already ended the lease: the answer of the first time. */
  readonly repeated?: { readonly verb: EndingVerb; readonly state: State };
  /** What others have sent to the holder, handed out with this answer. */
  readonly messages?: readonly Message[];
}

/** What a change of a row is: a claim, a holder's end of its lease by which the job is finished, or anything else. */
export type WriteKind = 'claim' | 'end' | 'other';

export interface Decision {
  readonly job: Job;
  readonly events: readonly EventDraft[];
  readonly answer: Accepted | Refusal;
  readonly writes?: SideWrites;
  /** Left out it is `other`. */
  readonly kind?: WriteKind;
}

export interface ClaimedJob {
  readonly job: Job;
  /** Null when it is too large to be read for every job that may be claimed: it is read once the claim is made. */
  readonly input: JobInput | null;
  /** About what it takes to show the job to its holder, the instructions of its type aside. */
  readonly bytes: number;
  /** What others have sent to the claimer, handed out with this job. */
  readonly messages?: readonly Message[];
}
export type CreateAnswer =
  | { readonly ok: true; readonly jobs: readonly Job[]; readonly replayed: boolean }
  | Refusal;
export type ClaimNextAnswer = {
  readonly ok: true;
  readonly jobs: readonly ClaimedJob[];
  /** More may be ready than this flush could look at. */
  readonly more: boolean;
};
