/** The store in domain verbs. Two of them exist, SQLite and PostgreSQL; one suite holds both to this. */

import type { ClaimedJob, DependencyOn, Idempotency, LogLine } from '../domain/command.ts';
import type { JobEvent } from '../domain/event.ts';
import type { Job, JobComment, JobDetails, JobInput, Outcome, State } from '../domain/job.ts';
import type { SchedulingReads, SchedulingTx } from './types/scheduling.ts';

export type MaybePromise<T> = T | Promise<T>;

export interface Store {
  readonly dialect: 'sqlite' | 'postgres';
  /** How many transactions may be under way at once. */
  readonly lanes: number;
  /** Who this installation is; written when the database was made. */
  readonly identity: string;
  /** What must be added to this machine's clock to read the store's. */
  clockOffsetMs(): number;
  /** Measures that difference again. */
  syncClock(): Promise<void>;
  /** Runs `work` in one transaction of the lane: all of it is durable when this resolves, or none of it happened. */
  transaction<T>(lane: number, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Reads outside any transaction: only what is committed. */
  readonly read: Reads;
  /** Why it cannot be used now, in words; null while it can. Known without asking it. */
  trouble(): string | null;
  /** Calls the listener each time that it can be used again. */
  onBack(listener: () => void): void;
  /** Calls `wake` when another server queued work. A hint: polling stays the truth. */
  listen(wake: (targets: string[]) => void): Promise<void>;
  close(): Promise<void>;
}

/** A way to look at the store from beside it. */
export interface Reader {
  readonly read: Reads;
  close(): Promise<void>;
}

/** A row before and after its commands. */
export interface Change {
  readonly before: Job;
  readonly after: Job;
}

export interface NewRow {
  readonly job: Omit<Job, 'no'>;
  readonly input: JobInput;
}

/** How much of the ready jobs to read. */
export interface ReadyWindow {
  readonly limit: number;
  /** Inputs up to this size are read along. */
  readonly carriedBytes: number;
}

export interface Tx extends SchedulingTx {
  /** A write whose outcome nobody needs before the commit: it is waited for there, and a failure undoes everything. */
  defer(write: MaybePromise<unknown>): void;

  // Jobs
  /** Locks the rows in the order of their numbers and reads them. */
  lockJobs(ids: readonly string[]): MaybePromise<Job[]>;
  lockJobsByNo(nos: readonly number[]): MaybePromise<Job[]>;
  /** The best ready rows of one target, in claim order, locked; rows that another server holds are passed over. */
  readyJobs(target: string, window: ReadyWindow): MaybePromise<ClaimedJob[]>;
  readyJobsOfType(target: string, typeNo: number, window: ReadyWindow): MaybePromise<ClaimedJob[]>;
  /** Whether the target has ready rows, those that another server is looking at included. */
  hasReady(target: string): MaybePromise<boolean>;
  /** Jobs under a live lease that was asked for with this claim id. */
  claimedUnder(claimId: string, limit: number): MaybePromise<ClaimedJob[]>;
  insertJobs(rows: readonly NewRow[]): MaybePromise<number[]>;
  updateJobs(changes: readonly Change[]): MaybePromise<void>;
  saveOutcomes(
    rows: readonly { jobNo: number; result: string | null; error: string | null }[],
  ): MaybePromise<void>;
  addComments(
    rows: readonly { jobNo: number; seq: number; at: number; by: string; text: string }[],
  ): MaybePromise<void>;
  addLogs(rows: readonly { jobNo: number; attempt: number; line: LogLine }[]): MaybePromise<void>;
  /** The unfinished job that has this key, if any. */
  findUnique(typeNo: number, uniqueKey: string): MaybePromise<string | null>;
  countChildren(parentNo: number): MaybePromise<number>;
  /** The job at the top of the tree of children that this one belongs to, and how deep below it this one is. */
  treeAbove(no: number): MaybePromise<{ topNo: number; depth: number }>;
  /** Everything below a job, ended or not; counting stops beyond `limit`. */
  countDescendants(no: number, limit: number): MaybePromise<number>;
  /** All descendants by parentId that have not ended, up to the limit. */
  openDescendants(no: number, limit: number): MaybePromise<number[]>;

  // Events and what hangs on a commit
  /** Tells of what happened to the jobs that this transaction wrote. To be called once, after them. */
  addToFeed(events: readonly JobEvent[], at: number): MaybePromise<void>;
  /** Writes events beside the rows of their jobs, which may be written by other means, and tells of them. */
  appendEvents(events: readonly JobEvent[], at: number): MaybePromise<void>;
  addCounts(
    lane: string,
    deltas: readonly { target: string; state: State; by: number }[],
  ): MaybePromise<void>;
  addOutbox(rows: readonly OutboxDraft[]): MaybePromise<void>;
  /** Tells other servers, after the commit, which targets have new work. */
  notify(targets: readonly string[]): MaybePromise<void>;

  // Idempotency
  findIdempotent(
    key: Pick<Idempotency, 'principal' | 'key'>,
  ): MaybePromise<{ bodyHash: string; jobIds: string[] } | null>;
  rememberIdempotent(rows: readonly (Idempotency & { jobIds: string[]; at: number })[]): MaybePromise<void>;

  // Dependencies
  addDependencies(
    rows: readonly { jobNo: number; parentNo: number; on: DependencyOn; met: boolean }[],
  ): MaybePromise<void>;
  dependentsOf(parentNo: number): MaybePromise<{ jobNo: number; on: DependencyOn }[]>;
  settleDependencies(parentNo: number): MaybePromise<void>;
  /** The newest job of a lineage, which says how the whole ended. */
  lastOfLineage(rootNo: number): MaybePromise<Job | null>;
  inputOf(jobNo: number): MaybePromise<JobInput>;

  // Pools
  /** Locks up to `count` free slots of a pool; those another server looks at are passed over. */
  /** The lanes below `count` that nobody holds, locked; at most `max` of them. They are made at the first look. */
  freeLanes(pool: string, count: number, max: number): MaybePromise<number[]>;
  freeSlots(pool: string, count: number): MaybePromise<number[]>;
  /** Makes sure a key's pool has its slots. */
  ensureKeySlots(keyPool: string, pool: string | null): MaybePromise<void>;
  takeSlots(rows: readonly { pool: string; idx: number; jobNo: number }[]): MaybePromise<void>;
  /** Frees everything the jobs held; answers the pools that got room. */
  releaseSlots(jobNos: readonly number[]): MaybePromise<string[]>;
  /** The best waiters of each target that is blocked on this pool, so many of each, locked. */
  bestWaiters(pool: string, ofEach: number): MaybePromise<Job[]>;
  savePool(pool: Pool, at: number): MaybePromise<void>;
  /** Leaves a pool that is there as it is. */
  ensurePool(pool: Pool, at: number): MaybePromise<void>;
  deletePool(name: string): MaybePromise<'deleted' | 'missing' | 'in_use'>;

  // Routing and types
  setPaused(kind: PauseKind, name: string, paused: boolean, at: number, by: string): MaybePromise<void>;
  routingRevision(): MaybePromise<number>;
  saveType(type: NewType, at: number): MaybePromise<JobType>;

  // Tokens and the record of administrative acts
  addToken(token: StoredToken): MaybePromise<void>;
  revokeToken(which: string, at: number, by: string): MaybePromise<boolean>;
  addAudit(entry: Audit): MaybePromise<void>;
  dropOldAudit(before: number, limit: number): MaybePromise<number>;

  // Housekeeping
  beat(name: string, at: number): MaybePromise<number | null>;
  forgetServers(before: number): MaybePromise<number>;
  setMeta(name: string, value: string): MaybePromise<void>;
  /** Writes it unless it is there. */
  keepMeta(name: string, value: string): MaybePromise<void>;
  claimOutbox(now: number, limit: number, leaseMs: number): MaybePromise<OutboxRow[]>;
  deleteOutbox(no: number): MaybePromise<void>;
  postponeOutbox(no: number, runAt: number, error: string): MaybePromise<void>;
  deleteJobs(nos: readonly number[]): MaybePromise<void>;
  dropOldIdempotency(before: number, limit: number): MaybePromise<number>;
  dropOldOutbox(before: number, limit: number): MaybePromise<number>;
  dropEmptyFlushes(before: number, limit: number): MaybePromise<number>;
  dropFreeKeySlots(limit: number): MaybePromise<number>;
  saveBlob(blob: Blob): MaybePromise<void>;
  /** Gives committed flushes their place in the feed; a no-op on SQLite, where they have one at once. */
  numberFlushes(limit: number): MaybePromise<number>;

  // Import and rebuild
  /** Rows that keep the numbers they had. */
  insertJobsRaw(rows: readonly { readonly job: Job; readonly input: JobInput }[]): MaybePromise<void>;
  /** Events that keep their sequence and their place in the feed. */
  insertFeedRaw(events: readonly FeedEntry[]): MaybePromise<void>;
  insertEventsRaw(events: readonly JobEvent[]): MaybePromise<void>;
  insertTypeRaw(type: JobType): MaybePromise<void>;
}

export interface Reads extends SchedulingReads {
  jobById(id: string): MaybePromise<Job | null>;
  jobByNo(no: number): MaybePromise<Job | null>;
  jobsByNo(nos: readonly number[]): MaybePromise<Job[]>;
  /** Of those that have no comments and that no schedule made. */
  printedRows(jobNos: readonly number[]): MaybePromise<PrintedRow[]>;
  details(jobs: readonly Job[]): MaybePromise<Map<number, JobDetails>>;
  /** Of those that are small enough to be read without a thought. */
  smallDetails(jobs: readonly Job[]): MaybePromise<Map<number, JobDetails>>;
  /** About how many bytes there are to show of each. */
  sizes(jobs: readonly Job[]): MaybePromise<Map<number, number>>;
  /** Of those that have one. */
  outcomes(jobNos: readonly number[]): MaybePromise<Map<number, Outcome>>;
  /** One page in the order of creation. */
  list(filter: ListFilter): MaybePromise<Job[]>;
  /** A page of those whose title or description has the words; it may be short, and there may yet be more. */
  search(words: string, filter: ListFilter): MaybePromise<Found>;
  dependenciesOf(jobNos: readonly number[]): MaybePromise<JobDependency[]>;
  commentsOf(jobNo: number): MaybePromise<JobComment[]>;
  commentsAfter(
    jobNo: number,
    afterSeq: number,
    limit: number,
  ): MaybePromise<(JobComment & { readonly seq: number })[]>;
  eventsOf(jobNo: number, afterSeq: number, limit: number): MaybePromise<JobEvent[]>;
  logsOf(jobNo: number, afterNo: number, limit: number): MaybePromise<StoredLog[]>;
  /** Committed events after a place in the feed, in feed order, also those of jobs that were pruned since. */
  entries(after: FeedPlace, limit: number): MaybePromise<FeedEntry[]>;
  /** Those of jobs that are still there, with the names of the jobs. */
  feed(after: FeedPlace, limit: number): MaybePromise<FeedEvent[]>;
  /** The last place in the feed that is taken. */
  feedEnd(): MaybePromise<FeedPlace>;
  counts(): MaybePromise<{ target: string; state: State; n: number }[]>;

  expiredLeases(now: number, limit: number): MaybePromise<string[]>;
  /** How long the longest of the leases is that have run out; 0 when none has. */
  longestLapsedLeaseMs(now: number): MaybePromise<number>;
  timedOut(now: number, limit: number): MaybePromise<string[]>;
  due(now: number, limit: number): MaybePromise<string[]>;
  /** When the next scheduled job is due, or the next timeout ends. */
  nextDueAt(): MaybePromise<number | null>;
  unsettled(limit: number): MaybePromise<number[]>;
  /** Pools that have a free slot and somebody waiting for it. */
  poolsWithRoomAndWaiters(limit: number): MaybePromise<string[]>;
  /** Looks at a window of finished jobs for old ones that nothing kept refers to. */
  prunable(state: State, before: number, afterNo: number, limit: number): MaybePromise<PrunableWindow>;

  routing(): MaybePromise<Routing>;
  tokens(): MaybePromise<StoredToken[]>;
  /** Rises with every change of the tokens. */
  tokenRevision(): MaybePromise<number>;
  audit(beforeNo: number | null, limit: number): MaybePromise<(Audit & { readonly no: number })[]>;
  types(): MaybePromise<JobType[]>;
  typesAfter(name: string, limit: number): MaybePromise<JobType[]>;
  pools(): MaybePromise<PoolUse[]>;
  aliveAt(name: string): MaybePromise<number | null>;
  meta(name: string): MaybePromise<string | null>;
  outboxSize(): MaybePromise<number>;
  blob(id: string): MaybePromise<Blob | null>;
  /** In the order of their making, from the one behind `afterId` on. */
  blobsOf(jobNo: number, afterId: string | null, limit: number): MaybePromise<Blob[]>;
  /** A page in the order of their ids. */
  blobsAfter(id: string, limit: number): MaybePromise<Blob[]>;
  /** Which of these ids have a record. */
  knownBlobs(ids: readonly string[]): MaybePromise<ReadonlySet<string>>;
}

export interface PrintedRow {
  readonly no: number;
  readonly seq: number;
  /** The fields of `CHANGING` as a JSON array; flags are 0 or 1. */
  readonly text: string;
}

export interface JobDependency {
  readonly jobNo: number;
  readonly parentNo: number;
  readonly parentId: string;
  readonly on: DependencyOn;
  /** The parent's lineage has ended. */
  readonly met: boolean;
}

export interface ListFilter {
  readonly states: readonly State[];
  readonly targets: readonly string[] | null;
  readonly typeNo: number | null;
  readonly tag: string | null;
  /** Only members of a retry lineage after its first. */
  readonly retries?: boolean;
  readonly order: 'oldest' | 'newest';
  /** Only jobs after (oldest) or before (newest) this number. */
  readonly from: number | null;
  readonly limit: number;
}

export interface Found {
  readonly jobs: readonly Job[];
  /** The `from` of the next page; null when there is none. */
  readonly next: number | null;
}

export interface StoredToken {
  readonly id: string;
  readonly name: string;
  readonly role: 'head' | 'worker' | 'viewer';
  readonly targets: readonly string[] | null;
  /** SHA-256 of the token; the token itself is known to its owner alone. */
  readonly hash: string;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly revokedAt: number | null;
}

export interface Audit {
  readonly at: number;
  readonly by: string;
  readonly action: string;
  readonly subject: string;
  readonly facts: Readonly<Record<string, unknown>> | null;
}

export type PauseKind = 'target' | 'type';
export interface Routing {
  readonly revision: number;
  readonly pausedTargets: ReadonlySet<string>;
  readonly pausedTypes: ReadonlySet<number>;
  /** How large the instructions are that each type adds to a claimed job; types without any are left out. */
  readonly typeBytes: ReadonlyMap<number, number>;
  readonly pauses: readonly { kind: PauseKind; name: string; at: number; by: string }[];
}

export interface NewType {
  readonly name: string;
  readonly label: string;
  readonly sop: string | null;
  readonly paramsSchema: string | null;
  /** Keep what is there when the type exists already. */
  readonly onlyIfMissing: boolean;
}
export interface JobType {
  readonly no: number;
  readonly name: string;
  readonly label: string;
  readonly sop: string | null;
  readonly paramsSchema: string | null;
  readonly active: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Pool {
  readonly name: string;
  readonly capacity: number;
  readonly perKey: number;
}
export interface PoolUse extends Pool {
  readonly running: number;
  readonly waiting: number;
}

export interface PrunableWindow {
  readonly jobs: readonly { no: number; id: string }[];
  /** Where to look next; null when everything behind is too young. */
  readonly nextNo: number | null;
}

export interface FeedPlace {
  readonly pos: number;
  readonly ordinal: number;
}
export interface FeedEntry extends JobEvent, FeedPlace {}
export interface FeedEvent extends FeedEntry {
  readonly jobId: string;
  readonly target: string;
}

export interface StoredLog extends LogLine {
  readonly no: number;
  readonly attempt: number;
}

export interface OutboxDraft {
  readonly channel: string;
  readonly kind: string;
  readonly jobNo: number | null;
  readonly body: string;
  readonly at: number;
}
export interface OutboxRow extends OutboxDraft {
  readonly no: number;
  readonly attempts: number;
}

export interface Blob {
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly sha256: string;
  readonly contentType: string;
  readonly jobNo: number | null;
  readonly createdAt: number;
  readonly createdBy: string;
}
