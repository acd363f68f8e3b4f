/** The lines of the journal. Each stands alone; together they bring back every job. */

import type { DependencyOn } from '../domain/command.ts';
import type { JobEvent } from '../domain/event.ts';
import type { JobComment, JobInput, Outcome } from '../domain/job.ts';
import { CHANGING, type ChangingJob, type FixedJob } from '../domain/job-changes.ts';
import type { Schedule } from '../domain/schedule.ts';
import type { FeedPlace, JobType, Pool, Routing } from '../store/store.ts';
import type { ApprovalRow, Run } from '../store/types/scheduling.ts';

export interface EventLine extends FeedPlace {
  readonly event: JobEvent;
  /** The row as it was when the line was written, which may be later than the event. */
  readonly job?: ChangingJob;
  /** Written with its first event. */
  readonly fixed?: FixedJob;
  readonly input?: JobInput;
  readonly after?: readonly { readonly parentNo: number; readonly on: DependencyOn }[];
  readonly outcome?: Outcome;
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

export function printLine(line: Exclude<JournalLine, EventLine>): string {
  return `${JSON.stringify(line)}\n`;
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
  const line = value as Exclude<JournalLine, EventLine> | StoredLine;
  if ('schedule' in line && !isSchedule(line.schedule)) return null;
  if (!('pos' in line)) return NAMES.some((name) => name in line) ? line : null;
  if (typeof line.event !== 'object') return null;
  const { row, job, fixed, ...rest } = line;
  return {
    ...rest,
    ...(job && { job: { ...OLD_DEFAULTS, ...job } }),
    ...(row && { job: fromRow(row) }),
    ...(fixed && { fixed: { ...FIXED_DEFAULTS, ...fixed } }),
  };
}

/** Older journals have `job` with names instead of `row`, and without what is null or false. */
interface StoredLine extends EventLine {
  readonly row?: readonly unknown[];
}

const FLAGS: ReadonlySet<string> = new Set<keyof ChangingJob>(['tokenUsed', 'cancelRequested', 'watched']);

function fromRow(row: readonly unknown[]): ChangingJob {
  const fields = CHANGING.map((field, at) => [field, FLAGS.has(field) ? row[at] === 1 : row[at]]);
  // It was printed from such a row.
  return Object.fromEntries(fields) as ChangingJob;
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

const OLD_DEFAULTS = {
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
/** What is null for most jobs is not printed. */
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
