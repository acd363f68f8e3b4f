/** The lines of the journal. Each stands alone; together they bring back every job. */

import type { DependencyOn } from '../domain/command.ts';
import type { JobEvent } from '../domain/event.ts';
import type { Job, JobComment, JobInput } from '../domain/job.ts';
import type { Schedule } from '../domain/schedule.ts';
import type { FeedPlace, JobType, Pool, Routing } from '../store/store.ts';
import type { ApprovalRow, Run } from '../store/types/scheduling.ts';

/** What never changes about a job; written with its first event. */
export type FixedJob = Pick<
  Job,
  | 'id'
  | 'typeNo'
  | 'target'
  | 'createdAt'
  | 'createdBy'
  | 'leaseMs'
  | 'timeoutMs'
  | 'retryMode'
  | 'retryMax'
  | 'backoffMs'
  | 'retryCount'
  | 'retryOf'
  | 'rootNo'
  | 'parentNo'
  | 'scheduleId'
  | 'uniqueKey'
  | 'pool'
  | 'concurrencyKey'
>;
export type HotJob = Omit<Job, 'no' | keyof FixedJob>;

export interface EventLine extends FeedPlace {
  readonly event: JobEvent;
  /** The row as it was when the line was written, which may be later than the event. */
  readonly job?: HotJob;
  readonly fixed?: FixedJob;
  readonly input?: JobInput;
  readonly after?: readonly { readonly parentNo: number; readonly on: DependencyOn }[];
  readonly outcome?: { readonly result: string | null; readonly error: string | null };
  /** How a schedule came to make it; written with its first event. */
  readonly run?: RunOrigin;
  readonly gate?: GateFacts;
  /** The comments from number `from` (counted from 0) on. */
  readonly comments?: { readonly from: number; readonly list: readonly JobComment[] };
}

export type RunOrigin = Pick<Run, 'scheduleId' | 'kind' | 'dueAt' | 'triggeredBy'>;
export type GateFacts = Pick<ApprovalRow, 'timeoutMs' | 'auto' | 'hash'>;
/** A schedule without what follows from its clock and its runs. */
export type ScheduleFacts = Pick<
  Schedule,
  'no' | 'id' | 'spec' | 'enabled' | 'createdAt' | 'createdBy' | 'spawnedBy'
>;

export type JournalLine =
  | { readonly spine: 1; readonly identity: string }
  | EventLine
  | { readonly type: JobType }
  | { readonly pools: readonly Pool[] }
  | { readonly pauses: Routing['pauses'] }
  | { readonly schedule: ScheduleFacts }
  | { readonly scheduleGone: string }
  /** The ids of all there are; others that the journal told of before are gone. */
  | { readonly schedules: readonly string[] }
  /** Runs that have settled, by number. */
  | { readonly settled: readonly number[] }
  | { readonly pruned: readonly string[] };

/** Every event line starts like this, which makes the last one quick to find. */
export const EVENT_START = '{"pos":';

export function printLine(line: JournalLine): string {
  if (!('pos' in line)) return `${JSON.stringify(line)}\n`;
  const { pos, ordinal, event, job, fixed, ...rest } = line;
  return `${JSON.stringify({ pos, ordinal, event, job: job && thinHot(job), fixed: fixed && thinFixed(fixed), ...rest })}\n`;
}

/** Null when the text is no line of a journal. */
export function parseLine(text: string): JournalLine | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  // Journals are private files that Spine alone writes: a line that parses is one of its own.
  const line = value as JournalLine;
  if ('schedule' in line && !isSchedule(line.schedule)) return null;
  if (!('pos' in line)) return NAMES.some((name) => name in line) ? line : null;
  if (typeof line.event !== 'object') return null;
  return {
    ...line,
    ...(line.job && { job: { ...HOT_DEFAULTS, ...line.job } }),
    ...(line.fixed && { fixed: { ...FIXED_DEFAULTS, ...line.fixed } }),
  };
}

const NAMES = [
  'spine',
  'type',
  'pools',
  'pauses',
  'schedule',
  'scheduleGone',
  'schedules',
  'settled',
  'pruned',
] as const;

function isSchedule(facts: Partial<ScheduleFacts> | null): boolean {
  return typeof facts?.no === 'number' && typeof facts.id === 'string' && typeof facts.spec === 'object';
}

// Most columns of most jobs are null or false; leaving those out halves the journal.
const HOT_DEFAULTS = {
  leaseToken: null,
  leaseUntil: null,
  claimedBy: null,
  claimId: null,
  tokenUsed: false,
  timeoutAt: null,
  endedToken: null,
  endedVerb: null,
  endedState: null,
  finishedAt: null,
  reason: null,
  progress: null,
  cancelRequested: false,
  blockedOn: null,
  watched: false,
  retryAt: null,
  leaseSpanMs: null,
  approval: 'none',
  cause: null,
} as const;
const FIXED_DEFAULTS = {
  timeoutMs: null,
  retryOf: null,
  rootNo: null,
  parentNo: null,
  scheduleId: null,
  uniqueKey: null,
  pool: null,
  concurrencyKey: null,
} as const;

function thinHot(job: HotJob): object {
  return {
    state: job.state,
    updatedAt: job.updatedAt,
    attempts: job.attempts,
    fence: job.fence,
    leaseToken: job.leaseToken ?? undefined,
    leaseUntil: job.leaseUntil ?? undefined,
    leasePolicy: job.leasePolicy,
    leaseSpanMs: job.leaseSpanMs ?? undefined,
    claimedBy: job.claimedBy ?? undefined,
    claimId: job.claimId ?? undefined,
    tokenUsed: job.tokenUsed || undefined,
    timeoutAt: job.timeoutAt ?? undefined,
    endedToken: job.endedToken ?? undefined,
    endedVerb: job.endedVerb ?? undefined,
    endedState: job.endedState ?? undefined,
    settled: job.settled,
    finishedAt: job.finishedAt ?? undefined,
    reason: job.reason ?? undefined,
    progress: job.progress ?? undefined,
    seq: job.seq,
    priority: job.priority,
    runAt: job.runAt,
    maxAttempts: job.maxAttempts,
    cancelRequested: job.cancelRequested || undefined,
    blockedOn: job.blockedOn ?? undefined,
    waitingFor: job.waitingFor,
    watched: job.watched || undefined,
    retryAt: job.retryAt ?? undefined,
    comments: job.comments,
    approval: job.approval === 'none' ? undefined : job.approval,
    cause: job.cause ?? undefined,
  } satisfies Record<keyof HotJob, unknown>;
}

function thinFixed(job: FixedJob): object {
  return {
    id: job.id,
    typeNo: job.typeNo,
    target: job.target,
    createdAt: job.createdAt,
    createdBy: job.createdBy,
    leaseMs: job.leaseMs,
    timeoutMs: job.timeoutMs ?? undefined,
    retryMode: job.retryMode,
    retryMax: job.retryMax,
    backoffMs: job.backoffMs,
    retryCount: job.retryCount,
    retryOf: job.retryOf ?? undefined,
    rootNo: job.rootNo ?? undefined,
    parentNo: job.parentNo ?? undefined,
    scheduleId: job.scheduleId ?? undefined,
    uniqueKey: job.uniqueKey ?? undefined,
    pool: job.pool ?? undefined,
    concurrencyKey: job.concurrencyKey ?? undefined,
  } satisfies Record<keyof FixedJob, unknown>;
}
