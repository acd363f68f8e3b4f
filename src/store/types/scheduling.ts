/** What the scheduler keeps in the store, and the verbs for it. */

import type { Job } from '../../domain/job.ts';
import type { ApprovalAuto, RunKind, RunNote, Schedule } from '../../domain/schedule.ts';

type MaybePromise<T> = T | Promise<T>;

/** Whether a run counts for its schedule's overlap: ended, under way (a retry to come included), or waiting in line. */
export const RUN_ENDED = 0;
export const RUN_ACTIVE = 1;
export const RUN_WAITING = 2;
export type RunActivity = typeof RUN_ENDED | typeof RUN_ACTIVE | typeof RUN_WAITING;

/** What a job has beside its row when a schedule made it. */
export interface Run {
  readonly jobNo: number;
  readonly scheduleId: string;
  readonly kind: RunKind;
  readonly dueAt: number | null;
  /** The parent's run whose end started this one. */
  readonly triggeredBy: number | null;
  readonly active: RunActivity;
  /** What its worker wrote down before it began, so that whoever comes after a crash finds the work. */
  readonly sessionKey: string | null;
  readonly transport: string | null;
  readonly dispatchedAt: number | null;
  readonly lastHeartbeat: number | null;
  readonly contextSummary: string | null;
}

/** A run as people look at it. */
export interface RunRecord {
  readonly job: Job;
  readonly run: Run;
  readonly startedAt: number | null;
  readonly result: string | null;
  readonly error: string | null;
  readonly earlierId: string | null;
  readonly triggeredById: string | null;
}

export interface RunFilter {
  readonly scheduleId?: string;
  readonly states?: readonly Job['state'][];
  readonly causes?: readonly (string | null)[];
  readonly ids?: readonly string[];
  readonly before?: number;
  readonly limit: number;
}

/** A run as far as its schedule goes by it. */
export type PastRun = Pick<Run, 'kind' | 'dueAt'> &
  Pick<Job, 'createdAt' | 'state' | 'cause' | 'finishedAt' | 'settled' | 'retryAt'>;

/** One tick that fired, or a row of ticks that did not. */
export interface Tick {
  readonly scheduleId: string;
  readonly at: number;
  readonly fate: 'fired' | 'missed';
  readonly jobNo: number | null;
  readonly untilAt: number;
  readonly n: number;
  readonly reason: string | null;
  readonly recordedAt: number;
}

export type ApprovalStatus = 'pending' | 'approved' | 'rejected' | 'timed_out';
export interface ApprovalRow {
  readonly jobNo: number;
  readonly scheduleId: string | null;
  readonly status: ApprovalStatus;
  readonly timeoutMs: number;
  readonly auto: ApprovalAuto;
  /** SHA-256 of what is to be approved. */
  readonly hash: string;
  /** Null while the job has not come to its gate. */
  readonly requestedAt: number | null;
  readonly expiresAt: number | null;
  readonly resolvedAt: number | null;
  readonly resolvedBy: string | null;
  readonly notes: string | null;
}
/** A job has one gate, so the job's id names its approval too. */
export interface ApprovalRecord extends ApprovalRow {
  readonly jobId: string;
  readonly title: string | null;
}

export interface Message {
  readonly no: number;
  readonly id: string;
  readonly sender: string;
  readonly recipient: string;
  readonly kind: string;
  readonly subject: string | null;
  readonly body: string;
  readonly priority: number;
  readonly owner: string | null;
  readonly replyTo: string | null;
  readonly scheduleId: string | null;
  readonly jobNo: number | null;
  readonly status: 'pending' | 'delivered' | 'read' | 'expired' | 'failed';
  readonly error: string | null;
  readonly createdAt: number;
  readonly deliveredAt: number | null;
  readonly readAt: number | null;
  readonly expiresAt: number | null;
}

/** Differs after every change, unless two came in the same millisecond. */
export interface ScheduleStamp extends Pick<Schedule, 'no' | 'id' | 'updatedAt'> {
  readonly stamp: string;
}

/** Newest first. */
export interface ApprovalFilter {
  readonly status?: ApprovalStatus;
  readonly scheduleId?: string;
  /** Only of jobs before this number. */
  readonly before?: number;
  readonly limit: number;
}

/** Newest first. */
export interface MessageFilter {
  readonly kind?: string;
  readonly status?: string;
  /** Only messages before this number. */
  readonly before?: number;
  readonly limit: number;
}

/** All schedules together: how many there are, the newest of them, and when one of them changed last. */
export interface ScheduleMark {
  readonly count: number;
  readonly lastNo: number;
  readonly changedAt: number;
}

export interface ScheduleEdge {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
}

export interface SchedulingTx {
  insertSchedule(schedule: Omit<Schedule, 'no'>): MaybePromise<number>;
  /** With the numbers they had: for a rebuild. */
  insertSchedulesRaw(schedules: readonly Schedule[]): MaybePromise<void>;
  /** Locked in the order of their numbers, always before any of their jobs. */
  lockSchedules(ids: readonly string[]): MaybePromise<Schedule[]>;
  /** Enabled ones whose moment has come, locked; those another server looks at are passed over. */
  dueSchedules(now: number, limit: number): MaybePromise<Schedule[]>;
  saveSchedules(schedules: readonly Schedule[]): MaybePromise<void>;
  deleteSchedules(ids: readonly string[]): MaybePromise<void>;
  /** The right to add schedules and to change their parents: nobody else does at the same time. */
  lockChains(): MaybePromise<void>;
  countSchedules(): MaybePromise<number>;
  /** All that decides whether a schedule may hang below that parent: the parent's line and children, and its own family. */
  edgesAround(id: string, parentId: string): MaybePromise<ScheduleEdge[]>;
  /** How many of a schedule and those above it were spawned, and how many in its whole chain. */
  spawnedAround(id: string): MaybePromise<{ above: number; inChain: number }>;
  /** The schedules themselves, those above them and their children: all that the end of one of their runs may touch. */
  relativesOf(ids: readonly string[]): MaybePromise<string[]>;
  /** The schedule and everything below it. */
  subtreeOf(id: string): MaybePromise<string[]>;

  /** False when this tick was taken before. */
  takeTick(scheduleId: string, at: number, now: number): MaybePromise<boolean>;
  nameTick(scheduleId: string, at: number, jobNo: number): MaybePromise<void>;
  addMissed(rows: readonly Omit<Tick, 'fate' | 'jobNo'>[]): MaybePromise<void>;
  /** Rows of missed ticks that begin after `after` and reach beyond `beyond`. */
  missedBeyond(scheduleId: string, after: number, beyond: number): MaybePromise<Tick[]>;
  dropTick(scheduleId: string, at: number): MaybePromise<void>;
  dropOldTicks(before: number, limit: number): MaybePromise<number>;
  dropOldMessages(before: number, limit: number): MaybePromise<number>;

  insertRuns(rows: readonly Run[]): MaybePromise<void>;
  runOf(jobNo: number): MaybePromise<Run | null>;
  /** Whether the end of this run has started a run of that schedule. */
  hasTriggered(jobNo: number, scheduleId: string): MaybePromise<boolean>;
  setActivity(jobNo: number, active: RunActivity): MaybePromise<void>;
  noteRun(jobNo: number, note: RunNote): MaybePromise<void>;
  /** How many runs of a schedule are under way, and how many wait in line. */
  overlap(scheduleId: string): MaybePromise<{ active: number; waiting: number }>;
  /** The run that has waited longest. */
  firstWaiting(scheduleId: string): MaybePromise<number | null>;
  /** Whether any run of these schedules is under way or waits in line. */
  anyOpenRun(scheduleIds: readonly string[]): MaybePromise<boolean>;
  openRuns(scheduleIds: readonly string[], limit: number): MaybePromise<string[]>;
  outcomeOf(jobNo: number): MaybePromise<{ result: string | null; error: string | null }>;
  lineageSize(rootNo: number): MaybePromise<number>;

  insertApproval(row: ApprovalRow): MaybePromise<void>;
  /** The job has come to its gate: from now on somebody may decide. */
  requestApproval(jobNo: number, now: number): MaybePromise<void>;
  lockApproval(jobNo: number): MaybePromise<ApprovalRow | null>;
  resolveApproval(
    jobNo: number,
    end: Pick<ApprovalRow, 'status' | 'resolvedAt' | 'resolvedBy' | 'notes'>,
  ): MaybePromise<void>;
  pendingApprovals(scheduleId: string): MaybePromise<number>;

  insertMessage(message: Omit<Message, 'no'>): MaybePromise<void>;
  /** How often this run has asked for another. */
  countSpawns(jobNo: number): MaybePromise<number>;
  /** Requests to spawn that nobody has looked at, locked. */
  pendingSpawns(limit: number): MaybePromise<Message[]>;
  endMessage(no: number, status: Message['status'], error: string | null, at: number): MaybePromise<void>;
}

export interface AdoptableRun {
  readonly id: string;
  readonly leaseToken: string;
  readonly claimId: string | null;
  readonly target: string;
}

export interface SchedulingReads {
  /** By id or by an unambiguous beginning of one; the schedules that fit. */
  schedulesByPrefix(prefix: string, limit: number): MaybePromise<Schedule[]>;
  schedules(filter: {
    readonly enabled?: boolean;
    readonly afterNo: number;
    readonly limit: number;
  }): MaybePromise<Schedule[]>;
  /** Differs after every change of any schedule, unless two came in the same millisecond. Costs little, however many there are. */
  scheduleMark(): MaybePromise<ScheduleMark>;
  /** The same schedules without what they say, for whoever only asks which have changed. */
  scheduleStamps(filter: { readonly afterNo: number; readonly limit: number }): MaybePromise<ScheduleStamp[]>;
  /** How many runs wait in line, by schedule. */
  waitingRuns(scheduleIds: readonly string[]): MaybePromise<Map<string, number>>;
  nextScheduleAt(): MaybePromise<number | null>;
  missedTicks(scheduleId: string, limit: number): MaybePromise<Tick[]>;
  runs(filter: RunFilter): MaybePromise<RunRecord[]>;
  runOf(jobNo: number): MaybePromise<Run | null>;
  /** Of those jobs that a schedule made. */
  runsByNo(jobNos: readonly number[]): MaybePromise<Run[]>;
  /** Which of these runs have started a child of their schedule by their end. */
  chainStarters(jobNos: readonly number[]): MaybePromise<number[]>;
  /** The newest runs that have ended. */
  endedRuns(limit: number): MaybePromise<number[]>;
  /** Of one schedule, newest first, without those that were skipped. */
  runHistory(scheduleId: string, limit: number): MaybePromise<PastRun[]>;
  approvals(filter: ApprovalFilter): MaybePromise<ApprovalRecord[]>;
  approval(jobNo: number): MaybePromise<ApprovalRecord | null>;
  /** Of those jobs that have a gate, asked for or not. */
  approvalsByNo(jobNos: readonly number[]): MaybePromise<ApprovalRow[]>;
  expiredApprovals(now: number, limit: number): MaybePromise<{ jobNo: number; auto: ApprovalAuto }[]>;
  nextApprovalAt(): MaybePromise<number | null>;
  message(id: string): MaybePromise<Message | null>;
  messages(filter: MessageFilter): MaybePromise<Message[]>;
  scheduleEdges(): MaybePromise<ScheduleEdge[]>;
  /** Running jobs that would go on elsewhere without their holder. */
  adoptable(): MaybePromise<AdoptableRun[]>;
  /** Every server that beat lately, and when it last did. */
  servers(): MaybePromise<{ name: string; beatAt: number }[]>;
}
