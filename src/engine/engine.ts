/** The engine as doors and the embedded worker see it. Loops keep it going from behind, through `Core`. */

import type { Agent } from '../domain/agent.ts';
import type { Alias } from '../domain/alias.ts';
import type { ApprovalAuto, ApprovalFilter, ApprovalRecord } from '../domain/approval.ts';
import type { Audit } from '../domain/audit.ts';
import type { Blob } from '../domain/blob.ts';
import type { Bulk, BulkAction } from '../domain/bulk.ts';
import type { HeldFilter, RankedJob, RankedWindow, RunningTask } from '../domain/bot.ts';
import type {
  Accepted,
  Actor,
  ClaimedJob,
  DependencyOn,
  GatewaySlots,
  LogLine,
  StoredLog,
} from '../domain/command.ts';
import type { Delivery, DeliveryFilter } from '../domain/delivery.ts';
import type { Refusal, SpineError } from '../domain/error.ts';
import type { FeedEvent, FeedPlace, JobEvent } from '../domain/event.ts';
import type { ChangeName, FieldFilter, JobRowDraft } from '../domain/job-fields.ts';
import type { Found } from '../domain/job-filter.ts';
import type { JobInputDraft } from '../domain/job-input.ts';
import type { JobType } from '../domain/job-type.ts';
import type {
  FailureCause,
  Job,
  JobComment,
  JobDetails,
  LeasePolicy,
  Outcome,
  RetryMode,
  State,
} from '../domain/job.ts';
import type {
  Grant,
  Message,
  MessageFilter,
  MessageKind,
  MessageRecord,
  UnreadPlace,
} from '../domain/message.ts';
import type { Pool, PoolUse } from '../domain/pool.ts';
import type { Answered, QuestionRecord } from '../domain/question.ts';
import type { AdviceTaken } from '../domain/model-call.ts';
import type { PauseKind, Routing } from '../domain/routing.ts';
import type { PriorRun, PriorRunsWanted, Run, RunFilter, RunNote, RunRecord } from '../domain/run.ts';
import type { Schedule, ScheduleEdge } from '../domain/schedule.ts';
import type { Scoring } from '../domain/scoring.ts';
import type { SubscribedEvent, Subscription } from '../domain/subscription.ts';
import type { FieldChange } from '../domain/schedule-replace.ts';
import type { BatchDraft, DataBatch, DataFilter, ResultFile } from '../domain/task-data.ts';
import type { Tick } from '../domain/tick.ts';
import type { BotStatus, TaskStatus } from '../domain/statuses.ts';
import type { Token } from '../domain/token.ts';
import type { Budget } from '../domain/budget.ts';
import type { Usage } from '../domain/usage.ts';
import type { User, UserChange, UserDraft } from '../domain/user.ts';
import type { SlotBeat, SlotStart, WorkerSlot } from '../domain/worker-slot.ts';
import type { Inputs } from './inputs.ts';
import type { Metered } from './meters.ts';

/** A verb that changes something answers after its commit, and throws a SpineError when it is refused. */
export interface Engine {
  readonly jobs: Jobs;
  readonly bulks: Bulks;
  readonly leases: Leases;
  readonly types: Types;
  readonly routing: RoutingVerbs;
  readonly pools: Pools;
  readonly spending: Spending;
  readonly blobs: BlobRecords;
  readonly tokens: Tokens;
  readonly audit: AuditTrail;
  readonly schedules: Schedules;
  readonly runs: Runs;
  readonly approvals: Approvals;
  readonly messages: Messages;
  readonly questions: Questions;
  readonly agents: Agents;
  readonly aliases: Aliases;
  readonly subscriptions: Subscriptions;
  readonly deliveries: Deliveries;
  readonly tasks: Tasks;
  readonly workers: Workers;
  readonly sessions: Sessions;
  readonly users: Users;
  readonly logins: Logins;
  readonly bots: Bots;
  readonly taskData: TaskData;
  /** Jobs by target and state, from counters: costs the same with ten jobs and ten million. */
  counts(): Promise<{ target: string; state: State; n: number }[]>;
  /** What this server has done since its start; null where nothing is counted. */
  metered(): Metered | null;
  /** How things stand in line. Bounded, however much there is. */
  standing(): Promise<Standing>;
  now(): number;
  /** Calls back, now and then, when there may be new events in the feed. A hint: reading the feed is the truth. */
  onNewEvents(listener: () => void): () => void;
}

export interface Standing {
  /** Since when the job is ready that has been so for longest; null when none is. */
  readonly oldestReadyAt: number | null;
  /** When the oldest commit was made that has no place in the feed yet; null when all have one. */
  readonly unnumberedAt: number | null;
}

/** A job as a caller describes it; what is left out gets the installation's default. */
export interface JobDraft extends JobRowDraft, JobInputDraft {
  readonly target: string;
  readonly type?: string;
  /** The type may be one that nobody has declared, though others are. */
  readonly newType?: boolean;
  readonly retry?: { readonly mode?: RetryMode; readonly max?: number; readonly backoffMs?: number };
  readonly after?: readonly { readonly job: string; readonly on?: DependencyOn }[];
  /** Somebody has to agree before it runs. */
  readonly approval?: { readonly timeoutS?: number; readonly auto?: ApprovalAuto };
  /** The running job that asks for this one; it must be held by the caller, or the caller must be head. */
  readonly parentId?: string;
}

/** What is left out stays as it was said. */
export type JobChange = Partial<Pick<JobDraft, ChangeName | 'params' | 'tags'>>;

export interface IdempotencyKey {
  readonly key: string;
  /** SHA-256 of the request, so that another body under the same key is noticed. */
  readonly bodyHash: string;
}

export interface NumberedComment extends JobComment {
  readonly seq: number;
}

export interface Jobs {
  create(
    actor: Actor,
    drafts: readonly JobDraft[],
    idempotency?: IdempotencyKey,
  ): Promise<{ jobs: readonly Job[]; replayed: boolean }>;
  /** By id, or by number when `id` is digits. */
  get(actor: Actor, id: string): Promise<Job>;
  /** The ids of jobs that are named by their short numbers, looked up together; of the others, why there is none. */
  idsOf(actor: Actor, numbers: readonly string[]): Promise<ReadonlyMap<string, string | SpineError>>;
  /** Answers when the job has ended for good, or as it is when the time is over or the caller has gone. */
  wait(actor: Actor, id: string, waitMs: number, signal?: AbortSignal): Promise<Awaited>;
  details(jobs: readonly Job[]): Promise<Map<number, JobDetails>>;
  /** Of those that are small enough to be read without a thought. */
  smallDetails(jobs: readonly Job[]): Promise<Map<number, JobDetails>>;
  /** About how many bytes there are to show of each. */
  sizes(jobs: readonly Job[]): Promise<Map<number, number>>;
  /** What is there for the next holder beside the job, of those jobs that have something. */
  handedOn(jobs: readonly Job[]): Promise<Map<number, HandedOn>>;
  list(actor: Actor, filter: JobFilter): Promise<Job[]>;
  /** The same by a bounded look: a page may be short, and there may yet be more. */
  look(actor: Actor, filter: JobFilter): Promise<Found>;
  /** The ids of what each of them still waits for. */
  blockers(jobs: readonly Job[]): Promise<Map<number, readonly string[]>>;
  /** Those whose title or description has the words. A page may be short, and there may yet be more. */
  search(actor: Actor, words: string, filter: JobFilter): Promise<Found>;
  comments(actor: Actor, id: string, afterSeq: number, limit: number): Promise<NumberedComment[]>;
  events(actor: Actor, id: string, afterSeq: number, limit: number): Promise<JobEvent[]>;
  logs(actor: Actor, id: string, afterNo: number, limit: number): Promise<StoredLog[]>;
  feed(after: FeedPlace, limit: number): Promise<FeedEvent[]>;
  /** Where the feed ends now: whoever begins there sees only what is new. */
  feedEnd(): Promise<FeedPlace>;
  comment(actor: Actor, id: string, text: string): Promise<Accepted>;
  /** Cancels the job and everything it created that has not ended. */
  cancel(actor: Actor, id: string, reason: string | null): Promise<Accepted>;
  retry(actor: Actor, id: string): Promise<Accepted>;
  redrive(actor: Actor, id: string): Promise<Accepted>;
  /** Says anew what is asked for, while nobody holds the job and it has not ended. */
  change(actor: Actor, id: string, change: JobChange): Promise<Accepted>;
  /** Removes a job that has ended, with everything that hangs on it. */
  remove(actor: Actor, id: string): Promise<void>;
  snooze(
    actor: Actor,
    id: string,
    untilAt: number,
    leaseToken: string | null,
    received?: Received,
  ): Promise<Accepted>;
}

export interface BulkDraft {
  readonly action: BulkAction;
  readonly filter: Partial<Omit<JobFilter, 'order' | 'from' | 'limit'>> & { readonly words?: string };
}

/** One thing done to all jobs that fit a filter. */
export interface Bulks {
  /** How many jobs would be looked at. */
  count(actor: Actor, draft: BulkDraft): Promise<number>;
  start(actor: Actor, draft: BulkDraft): Promise<Bulk>;
  get(actor: Actor, id: string): Promise<Bulk>;
  /** Newest first, those that reach no further than the caller. */
  list(actor: Actor, limit: number): Promise<Bulk[]>;
  /** What was done stays done. */
  cancel(actor: Actor, id: string): Promise<Bulk>;
}

export interface Awaited {
  readonly job: Job;
  /** It has ended, and no retry will come. */
  readonly ended: boolean;
  /** The job that is the last of its lineage so far; most are that themselves. */
  readonly lastId: string;
}

/** Both are JSON as text. */
export interface HandedOn {
  readonly checkpoint: string | null;
  /** Oldest first. */
  readonly answers: readonly Answered[];
  /** There are older ones than a claim tells of. */
  readonly answersLeftOut: boolean;
  /** Null for a job that waited for no other. */
  readonly inputs: Inputs | null;
}

export interface JobFilter extends FieldFilter {
  readonly states: readonly State[];
  readonly target?: string;
  readonly type?: string;
  readonly tag?: string;
  readonly retries?: boolean;
  readonly order: 'oldest' | 'newest';
  readonly from?: number;
  readonly limit: number;
}

export interface ClaimOptions {
  readonly leaseMs?: number;
  readonly claimId?: string;
  /**
   * What ends the lease; `own` unless said. A door whose workers send no heartbeats about their jobs claims with `presence`,
   * and tells `users.heard` of every call of a worker. The settings of the server say how long, `leaseMs` does not count.
   * The stuck detector (`src/loops/stuck-detector.ts`) fails what was claimed more than 15 minutes ago by a worker that was
   * silent for more than 10, with the cause `stale`. Every bad end under such a lease is final, and its retry is a new job:
   * `fail(actor, id, null, error, true)`. Whoever comes too late is refused; `leases.tooLate` keeps what it brought.
   */
  readonly policy?: LeasePolicy;
  /** What the claimer can do: it gets no job that requires more. */
  readonly capabilities?: readonly string[];
}
export interface ClaimNextOptions extends ClaimOptions {
  readonly targets: readonly string[];
  readonly types?: readonly string[];
  readonly max: number;
  readonly maxBytes?: number;
  readonly gatewaySlots?: GatewaySlots;
  /** The door at which is claimed, where that can be paused. */
  readonly door?: string;
  /** How long to wait for work when there is none. */
  readonly waitMs: number;
  /** Ends the wait early, when the caller has gone. */
  readonly signal?: AbortSignal;
}

/** How a holder ends one job before it takes the next. */
export type Ending = { readonly received?: Received; readonly usage?: Usage } & (
  | { readonly verb: 'complete'; readonly result: unknown }
  | ({
      readonly verb: 'fail';
      readonly error: unknown;
      readonly requeue: boolean;
    } & Failure)
);

export interface Failure {
  readonly cause?: FailureCause | null;
  /** Wait before the next try, also when the job does not say how long. */
  readonly backoff?: boolean;
}

/** Ids of the messages that have arrived; unless said, all that were handed out under the lease. */
export type Received = readonly string[];

export interface Leases {
  claim(actor: Actor, id: string, options?: ClaimOptions): Promise<Accepted>;
  claimNext(actor: Actor, options: ClaimNextOptions): Promise<readonly ClaimedJob[]>;
  heartbeat(
    actor: Actor,
    id: string,
    leaseToken: string | null,
    progress: unknown,
    also?: { readonly received?: Received; readonly leaseMs?: number; readonly usage?: Usage },
  ): Promise<Accepted>;
  complete(
    actor: Actor,
    id: string,
    leaseToken: string | null,
    result: unknown,
    received?: Received,
    usage?: Usage,
  ): Promise<Accepted>;
  fail(
    actor: Actor,
    id: string,
    leaseToken: string | null,
    error: unknown,
    requeue: boolean,
    how?: Failure & { readonly received?: Received; readonly usage?: Usage },
  ): Promise<Accepted>;
  release(
    actor: Actor,
    id: string,
    leaseToken: string | null,
    reason: string | null,
    received?: Received,
  ): Promise<Accepted>;
  /** Undoes claims of which the claimer never heard: they were no attempts. */
  giveBack(actor: Actor, claimed: readonly Pick<ClaimedJob, 'job'>[], isNamed: boolean): Promise<void>;
  /** Ends a job and claims the next ones in one transaction; claims nothing when the ending is refused. */
  endThenClaim(
    actor: Actor,
    id: string,
    leaseToken: string | null,
    ending: Ending,
    next: Omit<ClaimNextOptions, 'waitMs' | 'signal'>,
  ): Promise<{ ended: Accepted; next: readonly ClaimedJob[] }>;
  /** Ends many jobs well and claims the next ones, if asked to, in one transaction. Each end is judged by itself. */
  completeMany(
    actor: Actor,
    ends: readonly Completion[],
    next: Omit<ClaimNextOptions, 'waitMs' | 'signal'> | null,
  ): Promise<{ ended: readonly (Accepted | Refusal)[]; next: readonly ClaimedJob[] }>;
  log(actor: Actor, id: string, leaseToken: string | null, lines: readonly LogLine[]): Promise<Accepted>;
  /**
   * For whoever held a job and brings something after it was failed in its absence: all that it brought is kept in comments
   * of the job, once, unless there is no room. Nothing else changes; the caller is still to be refused with a 409.
   */
  tooLate(actor: Actor, id: string, brought: string): Promise<LateFate>;
  /** What the next holder is to know; the last one counts. */
  checkpoint(actor: Actor, id: string, leaseToken: string | null, value: unknown): Promise<Accepted>;
}

/** `not late`: the job was not failed in the absence of whoever asks. */
export type LateFate = 'kept' | 'no room' | 'not late';

export interface Completion {
  readonly id: string;
  readonly leaseToken: string | null;
  readonly result: unknown;
}

export interface TypeDraft {
  readonly name: string;
  readonly label?: string;
  readonly sop?: string | null;
  readonly paramsSchema?: unknown;
  readonly maxRetries?: number | null;
  /** For its jobs that do not say it themselves. */
  readonly retry?: { readonly backoffMs?: number | null };
  readonly scoring?: Scoring | null;
  readonly provider?: string | null;
}
export interface Types {
  /** In the order of their names. */
  list(afterName: string, limit: number): Promise<JobType[]>;
  /** All of them by number, as of the last change that this server has seen. */
  known(): Promise<ReadonlyMap<number, JobType>>;
  get(name: string): Promise<JobType>;
  save(actor: Actor, draft: TypeDraft): Promise<JobType>;
  /** Refused when somebody has declared one of that name before, retired or not. */
  declare(actor: Actor, draft: TypeDraft): Promise<JobType>;
  /** Its jobs go on as they are. */
  retire(actor: Actor, name: string): Promise<JobType>;
}

/** What jobs took; a type's name is null where they had none. */
export interface TypeSpent {
  readonly type: string | null;
  /** How many claims told of it. */
  readonly reports: number;
  readonly usage: Usage;
}
export interface DaySpent {
  /** As its date is written. */
  readonly day: string;
  readonly types: readonly TypeSpent[];
  /** What Spine itself has asked models about failures. */
  readonly advice: AdviceTaken;
}
export interface ShownBudget extends Budget {
  readonly type: string;
  /** Of today. */
  readonly used: Usage;
}
export interface Spending {
  /** The last so many days, today first. */
  days(count: number): Promise<readonly DaySpent[]>;
  /** Of each claim of a job that told of it. */
  ofJob(
    actor: Actor,
    id: string,
  ): Promise<readonly { readonly fence: number; readonly at: number; readonly usage: Usage }[]>;
  budgets(): Promise<readonly ShownBudget[]>;
  /** With neither of both, it is taken away. */
  setBudget(
    actor: Actor,
    type: string,
    budget: { readonly tokens: number | null; readonly costMicros: number | null },
  ): Promise<void>;
  /** As much again for today; its type goes on. */
  raise(actor: Actor, type: string): Promise<void>;
}

export interface RoutingVerbs {
  pause(actor: Actor, kind: PauseKind, name: string): Promise<void>;
  resume(actor: Actor, kind: PauseKind, name: string): Promise<void>;
  current(): Promise<Routing>;
}

export interface Pools {
  list(): Promise<PoolUse[]>;
  save(actor: Actor, pool: Pool): Promise<PoolUse>;
  remove(actor: Actor, name: string): Promise<void>;
}

export interface TokenDraft {
  readonly name: string;
  readonly role: 'head' | 'worker' | 'viewer';
  /** Which targets it may see and serve; null means all. */
  readonly targets: readonly string[] | null;
  /** Kinds of messages that it may send to other agents, beside those that need no grant. */
  readonly grants?: readonly Grant[] | null;
}
export interface Tokens {
  /** The token is shown this once; only its hash is kept. */
  add(actor: Actor, draft: TokenDraft): Promise<{ token: string; stored: Token }>;
  list(): Promise<Token[]>;
  revoke(actor: Actor, which: string): Promise<void>;
  /** Who is behind a stored token, or the `run` behind a lease; null when nobody is. */
  actorBehind(token: string): Promise<Actor | null>;
  /** A token for the agent of one dispatch of a run: it may be shown, may little, and ends with the dispatch. */
  ofTurn(jobId: string, dispatchedAt: number): Promise<string>;
  /** Calls back when tokens may have been revoked, so that open streams can be judged again. */
  onChange(listener: () => void): () => void;
}

/** Who logs in with an email address and a password. `which` is an id or an address. */
export interface Users {
  /** Newest first, without those that were removed. */
  list(): Promise<User[]>;
  /** Those that were removed, too: work names them. */
  everybody(): Promise<User[]>;
  get(which: string): Promise<User>;
  /**
   * A worker has called, about whatever: it is there. A door whose claims have the policy `presence` says so of every call
   * of a worker, before it does what was asked. Costs nothing: it is kept in memory, and written down within seconds.
   */
  heard(worker: Actor): void;
  /** Whoever was removed may be added again. */
  add(actor: Actor, draft: UserDraft): Promise<User>;
  change(actor: Actor, which: string, change: UserChange): Promise<User>;
  /** It can no longer log in or call; its work stays. */
  remove(actor: Actor, which: string): Promise<void>;
  /** Those who are known by these names, the removed ones too; a change of the full name may show a little later. */
  called(names: readonly string[]): Promise<ReadonlyMap<string, CalledUser>>;
}
export type CalledUser = Pick<User, 'id' | 'fullName'>;

export interface LoginSettings {
  /** What tokens are signed with; null is a secret that the installation makes for itself. */
  readonly secret: string | null;
  readonly accessMs: number;
  readonly refreshMs: number;
}
export interface LoggedIn {
  readonly user: User;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInMs: number;
}
export interface Logins {
  /** `address` is where the call came from; wrong passwords count against it and against the account. */
  logIn(address: string, email: string, password: string): Promise<LoggedIn>;
  refresh(refreshToken: string): Promise<LoggedIn>;
  /** Ends a refresh token; one that is none is as good as ended. */
  logOut(refreshToken: string): Promise<void>;
  /** Whose access token it is, as the user is by now; null when it is nobody's. */
  userBehind(accessToken: string): Promise<User | null>;
}

/** The record of administrative acts, newest first. */
export interface AuditTrail {
  list(beforeNo: number | null, limit: number): Promise<(Audit & { readonly no: number })[]>;
}

export interface BlobRecords {
  save(actor: Actor, blob: Omit<Blob, 'createdAt' | 'createdBy' | 'jobNo'>): Promise<Blob>;
  /** An artifact is for those who may see its job. */
  get(actor: Actor, id: string): Promise<Blob>;
  /** An artifact of a running job: its holder, or head, may add one. */
  attach(
    actor: Actor,
    jobId: string,
    leaseToken: string | null,
    blob: Omit<Blob, 'createdAt' | 'createdBy' | 'jobNo'>,
  ): Promise<Blob>;
  ofJob(actor: Actor, jobId: string, afterId: string | null, limit: number): Promise<Blob[]>;
}

export interface CancelledSchedules {
  readonly schedules: readonly string[];
  readonly runs: readonly string[];
}

/** A whole schedule under its name; `parent` may name another by its own. */
export interface KeptSchedules {
  readonly schedules: readonly Readonly<Record<string, unknown>>[];
  readonly types: readonly TypeDraft[];
  readonly pools: readonly Pool[];
}

export interface ApplyOptions {
  /** The mark of what is made, and of what may be pruned. */
  readonly mark: string;
  readonly prune: boolean;
  /** Tells what would happen, and changes nothing. */
  readonly dryRun: boolean;
}

export type ApplyAction = 'create' | 'change' | 'unchanged' | 'prune' | 'extra';

export interface Applied {
  readonly kind: 'schedule' | 'type' | 'pool';
  readonly name: string;
  readonly id: string | null;
  readonly action: ApplyAction;
  readonly changes: readonly FieldChange[];
}

/** Everything that names a schedule takes its id, or the beginning of it. */
export interface Schedules {
  /** Creates it, or makes the one of that name as `draft` says; what it does not say has its default. */
  put(
    actor: Actor,
    draft: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly schedule: Schedule; readonly action: ApplyAction }>;
  /** All of them or, when one is wrong, none. */
  apply(actor: Actor, kept: KeptSchedules, options: ApplyOptions): Promise<readonly Applied[]>;
  /** `draft` as its author wrote it; every default is filled in. */
  create(actor: Actor, draft: Readonly<Record<string, unknown>>): Promise<Schedule>;
  /** Whoever sees only some targets sees only their schedules. */
  get(actor: Actor, which: string): Promise<Schedule>;
  list(filter: {
    readonly enabled?: boolean;
    readonly afterNo: number;
    readonly limit: number;
  }): Promise<Schedule[]>;
  /** How many runs of each wait in line. */
  waiting(schedules: readonly Schedule[]): Promise<Map<string, number>>;
  /** What the parents of these are called, by the parents' ids. */
  parentNames(schedules: readonly Schedule[]): Promise<Map<string, string>>;
  edges(): Promise<ScheduleEdge[]>;
  /** A dry run tells how it would be, and changes nothing. */
  update(
    actor: Actor,
    which: string,
    patch: Readonly<Record<string, unknown>>,
    dryRun?: boolean,
  ): Promise<Schedule>;
  enable(actor: Actor, which: string, enabled: boolean): Promise<Schedule>;
  /** With everything below it; what runs is cancelled. */
  remove(actor: Actor, which: string): Promise<CancelledSchedules>;
  cancel(actor: Actor, which: string, cascade: boolean): Promise<CancelledSchedules>;
  /** Makes a run now; the schedule's own clock does not notice. */
  run(actor: Actor, which: string): Promise<Job>;
  preview(which: string, count: number): Promise<readonly number[]>;
  /** When a schedule that does not exist would fire; `draft` needs to say no more than its trigger. */
  previewDraft(
    draft: Readonly<Record<string, unknown>>,
    count: number,
  ): Promise<{ ticks: readonly number[]; words: string }>;
  missed(which: string, limit: number): Promise<Tick[]>;
}

export interface Runs {
  /** Newest first. */
  list(filter: RunFilter): Promise<RunRecord[]>;
  /** The same by a bounded look: a page may be short; `next` is the `before` of the next one, if any. */
  look(filter: RunFilter): Promise<{ readonly runs: readonly RunRecord[]; readonly next: number | null }>;
  get(actor: Actor, id: string): Promise<RunRecord>;
  /** Running ones that showed no life for so long. */
  stale(thresholdMs: number, limit: number): Promise<RunRecord[]>;
  of(jobNo: number): Promise<Run | null>;
  /** What the holder wants to be found after a crash. */
  note(actor: Actor, id: string, leaseToken: string, note: RunNote): Promise<void>;
  /** What the agent was sent, with the token in it left out; null when it was sent nothing. */
  prompt(jobNo: number): Promise<string | null>;
  /** What runs of the schedule said before this one. */
  prior(actor: Actor, jobNo: number, wanted: PriorRunsWanted): Promise<readonly PriorRun[]>;
  /** Which of these jobs somebody wants to stop. */
  cancelRequested(jobNos: readonly number[]): Promise<string[]>;
}

export interface Verdict {
  readonly agree: boolean;
  readonly notes: string | null;
  /** What the approver saw; refused when it is not what waits. */
  readonly hash?: string;
  /** Through which door the word came. */
  readonly by: 'operator' | 'api';
}
/** A job has one approval: the job's id names it. */
export interface Approvals {
  list(filter: ApprovalFilter): Promise<ApprovalRecord[]>;
  get(id: string): Promise<ApprovalRecord>;
  resolve(actor: Actor, id: string, verdict: Verdict): Promise<ApprovalRecord>;
  /** The schedule's oldest run that waits. */
  resolveOf(actor: Actor, scheduleId: string, verdict: Verdict): Promise<ApprovalRecord>;
}

/** What a holder wants to know, and of whom. */
export interface Asking {
  readonly question: string;
  readonly to: string;
  readonly choices?: readonly string[];
  readonly schema?: unknown;
  readonly timeoutMs: number;
  readonly default?: unknown;
}
export interface Questions {
  /** Ends the lease: the job waits for the answer, and this was no attempt. */
  ask(
    actor: Actor,
    id: string,
    leaseToken: string | null,
    asked: Asking,
    received?: Received,
  ): Promise<{ accepted: Accepted; question: QuestionRecord | null }>;
  answer(actor: Actor, id: string, answer: unknown): Promise<QuestionRecord>;
  get(actor: Actor, id: string): Promise<QuestionRecord>;
  /** Newest first; of scoped actors' own jobs, and what they are asked. */
  list(
    actor: Actor,
    filter: {
      readonly open?: boolean;
      readonly to?: string;
      readonly job?: string;
      readonly before?: number;
      readonly limit: number;
    },
  ): Promise<QuestionRecord[]>;
}

export interface MessageDraft {
  readonly from?: string;
  readonly to?: string;
  readonly kind: MessageKind;
  readonly subject?: string;
  readonly body: unknown;
  readonly priority?: number;
  readonly owner?: string;
  readonly replyTo?: string;
  readonly expiresAt?: number;
  /** The schedule whose run writes; a run token knows its own. */
  readonly scheduleId?: string;
}
/** Whoever is no head sees and reads its own messages, and nobody else's. */
export interface Messages {
  /** Under a key that was seen before it answers with the message that was sent then. */
  send(
    actor: Actor,
    draft: MessageDraft,
    idempotency?: IdempotencyKey,
  ): Promise<MessageRecord & { readonly replayed: boolean }>;
  get(actor: Actor, id: string): Promise<MessageRecord>;
  /** `next` is the `before` that goes on where so many were looked at and fewer than `limit` were wanted. */
  list(
    actor: Actor,
    filter: MessageFilter,
  ): Promise<{ readonly messages: MessageRecord[]; readonly next: number | null }>;
  /** The whole tree to which a message belongs, oldest first. */
  thread(actor: Actor, id: string, afterNo: number, limit: number): Promise<MessageRecord[]>;
  /** What an agent has not read, in the order in which it matters. */
  unread(actor: Actor, agent: string, after: UnreadPlace, limit: number): Promise<MessageRecord[]>;
  countUnread(actor: Actor, agent: string): Promise<number>;
  read(actor: Actor, id: string, agent?: string): Promise<MessageRecord>;
  /** Answers how many. */
  readAll(actor: Actor, agent: string): Promise<number>;
  /** What went with the lease that the actor holds, and may not have arrived. */
  carried(actor: Actor, job: Job): Promise<readonly Message[]>;
  /** The answer that carried them was not sent. */
  takenBack(job: Job): Promise<void>;
  /** What waits for the agent of a run, for its prompt. They have arrived once `promptAccepted` says so. */
  handToRun(actor: Actor, jobId: string, leaseToken: string, agent: string): Promise<readonly Message[]>;
  promptAccepted(jobNo: number): Promise<void>;
  promptTakenBack(jobNo: number): Promise<void>;
}

export interface AgentDraft {
  readonly id: string;
  readonly name?: string | null;
  readonly capabilities?: readonly string[] | null;
}
export interface Agents {
  list(): Promise<Agent[]>;
  get(id: string): Promise<Agent>;
  /** Makes it known, or changes what is said of it. */
  register(actor: Actor, draft: AgentDraft): Promise<Agent>;
  /** What waits for it is gone with it. */
  remove(actor: Actor, id: string): Promise<void>;
}

export interface Aliases {
  list(): Promise<Alias[]>;
  /** Makes it, or puts it in the place of the one with its name. */
  save(actor: Actor, draft: Omit<Alias, 'createdAt'>): Promise<Alias>;
  remove(actor: Actor, alias: string): Promise<void>;
}

/** What is left out does not matter. */
export interface SubscriptionDraft {
  readonly alias: string;
  readonly events: readonly SubscribedEvent[];
  readonly type?: string;
  readonly scheduleId?: string;
  readonly target?: string;
  readonly jobId?: string;
}
export interface ShownSubscription extends Subscription {
  readonly type: string | null;
  readonly jobId: string | null;
}
export interface Subscriptions {
  list(): Promise<ShownSubscription[]>;
  add(actor: Actor, draft: SubscriptionDraft): Promise<ShownSubscription>;
  remove(actor: Actor, id: string): Promise<void>;
}

export interface ShownDelivery extends Delivery {
  /** Null when it tells of no job, or of one that was pruned. */
  readonly jobId: string | null;
  readonly scheduleId: string | null;
}
export interface Deliveries {
  /** Newest first. */
  list(filter: DeliveryFilter): Promise<ShownDelivery[]>;
  /** Sends one that failed after all, to where its alias leads now. */
  retry(actor: Actor, id: string): Promise<ShownDelivery>;
}

/** What is null stays as it is. */
export interface TaskChange {
  readonly status: TaskStatus | null;
  /** Joins what is known of the task. */
  readonly metadata: Readonly<Record<string, unknown>> | null;
  /** Why, in words. */
  readonly note: string | null;
}
/** Jobs as cards on a board. */
export interface Tasks {
  /** Makes a task and moves its card to where it is to be, all or nothing. */
  make(actor: Actor, draft: JobDraft, change: Omit<TaskChange, 'metadata'>): Promise<Job>;
  /** Moves the card and adds to it, all or nothing; refused when the job is not as it was seen. */
  change(actor: Actor, job: Job, change: TaskChange): Promise<Job>;
}

/** How a bot, or an admin for it, moves a job by its status. */
export interface BotMove {
  readonly status: BotStatus;
  /** The bot counts its retries by itself, and this is one. */
  readonly countsRetry: boolean;
  /** Who is to do it, where the status means that somebody does. */
  readonly bot: Actor | null;
}

/** What is left out stays as it was said. */
export interface BotRewording
  extends Pick<JobDraft, 'title' | 'description' | 'params' | 'type' | 'priority'> {
  readonly target?: string;
}

export interface BotLoad {
  /** What waits for it, what it holds and what it has ended. */
  readonly tasks: number;
  /** What it has completed of late. */
  readonly completed: number;
  readonly current: RunningTask | null;
}

/** Users that work: they hold their jobs by name, without tokens. */
export interface Bots {
  actor(user: User): Actor;
  /** Whoever was heard within this time counts as online. */
  readonly onlineMs: number;
  /** The next job that is nobody's yet. */
  claim(actor: Actor): Promise<ClaimedJob | null>;
  move(actor: Actor, job: Job, move: BotMove): Promise<Job>;
  /** Says anew what is asked for, and moves the job, all in one commit. */
  change(actor: Actor, job: Job, asked: BotRewording, move: BotMove | null): Promise<Job>;
  /** With everything that hangs on it. What goes on from it goes on from nothing. */
  remove(actor: Actor, id: string): Promise<void>;
  /** Which of these jobs there are. */
  existing(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** What came of the work so far; the end leaves it as it is. */
  report(actor: Actor, id: string, result: unknown): Promise<Job>;
  /** The first of a part of the jobs that fit, from the newest on, in the order of tasks. */
  ranked(actor: Actor, filter: JobFilter, most: number): Promise<RankedWindow>;
  /** What a bot runs and what it has ended last: the first of it in the order of tasks. */
  held(name: string, filter: HeldFilter, most: number): Promise<RankedJob[]>;
  /** In the order of the numbers; those that are gone are left out. */
  numbered(nos: readonly number[]): Promise<Job[]>;
  /** What each has to do, and has done since then. */
  loads(since: number): Promise<(name: string) => BotLoad>;
}

/** The records of what bots collect. Their bytes are written before, and lie elsewhere. */
export interface TaskData {
  /** Throws unless the job is under way; to whoever lost it in its absence that is said. */
  checkRunning(actor: Actor, job: Job): void;
  newKey(prefix: string, job: Job, dataType: string): string;
  /** Which of these items have come before. */
  known(job: Job, dataType: string, externalIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Before its bytes are stored: what is announced and never recorded is removed after a while. */
  announce(actor: Actor, job: Job, batch: BatchDraft): Promise<void>;
  /** After its bytes are stored. False, and nothing kept, when some of the items have come meanwhile. */
  record(
    actor: Actor,
    job: Job,
    batch: BatchDraft,
    named: { readonly externalIds: readonly string[]; readonly tickers: readonly string[] },
  ): Promise<boolean>;
  /** Of a batch whose bytes are removed, and which was not recorded. */
  takeBack(actor: Actor, key: string): Promise<void>;
  /** How many items there are. */
  total(job: Job, dataType?: string | null, ticker?: string | null): Promise<number>;
  /** The oldest first. */
  list(job: Job, filter: DataFilter): Promise<DataBatch[]>;
  batch(job: Job, key: string): Promise<DataBatch | null>;
  register(
    actor: Actor,
    job: Job,
    draft: Omit<ResultFile, 'id' | 'jobNo' | 'uploadedBy' | 'createdAt'>,
  ): Promise<ResultFile>;
  files(
    job: Job,
    limit: number,
    offset: number,
  ): Promise<{ readonly files: ResultFile[]; readonly total: number }>;
  file(job: Job, id: string): Promise<ResultFile | null>;
}

export interface Workers {
  readonly staleMs: number;
  /** Where heartbeats can be read as a file, on the server's machine. */
  readonly heartbeatsFile: string | null;
  /** Those that the actor serves. */
  list(actor: Actor): Promise<WorkerSlot[]>;
  get(slot: string): Promise<WorkerSlot>;
  /** Takes the slot; what its last process left undone goes back. Refused while another process is alive in it. */
  start(actor: Actor, start: SlotStart): Promise<{ slot: WorkerSlot; recovered: string | null }>;
  beat(actor: Actor, beat: SlotBeat): Promise<WorkerSlot>;
  /** Asks the worker to take nothing new, or to go on. */
  drain(actor: Actor, slot: string, draining: boolean): Promise<WorkerSlot>;
  remove(actor: Actor, slot: string): Promise<void>;
}

export interface SessionDraft {
  readonly label: string;
  readonly spec: Readonly<Record<string, unknown>>;
}
/** What tells one session from another, and how much came of it. */
export interface SessionFacts {
  readonly label: string;
  readonly model: unknown;
  readonly channel: unknown;
  readonly outcomeBytes: number;
}
export interface Sessions {
  spawn(actor: Actor, draft: SessionDraft): Promise<Job>;
  /** Those that run, and those that ended last; or the ones of a label, the newest first. */
  list(actor: Actor, label: string | null): Promise<Job[]>;
  /** By number; what they were asked is not read. */
  facts(jobs: readonly Job[]): Promise<Map<number, SessionFacts>>;
  /** How they ended, by number. */
  outcomes(jobs: readonly Job[]): Promise<Map<number, Outcome>>;
  /** Whoever asked for it, or head. */
  end(actor: Actor, label: string): Promise<Job>;
  /** Ends what a worker that is gone left running here; a session that is not its own, or not known here, is left alone. */
  endOf(slot: WorkerSlot): Promise<void>;
}
