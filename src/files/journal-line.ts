/** The lines of the journal. Each stands alone; together they bring back every job. */

import type { Approval } from '../domain/approval.ts';
import type { DependencyOn } from '../domain/command.ts';
import type { FeedPlace, JobEvent } from '../domain/event.ts';
import type { JobType } from '../domain/job-type.ts';
import type { JobComment, JobInput, Outcome } from '../domain/job.ts';
import { CHANGING, type ChangingJob, FIXED, type FixedJob } from '../domain/job-fields.ts';
import { readValue } from '../domain/job-values.ts';
import type { Pool } from '../domain/pool.ts';
import type { Routing } from '../domain/routing.ts';
import type { Run } from '../domain/run.ts';
import { generatedFunction } from '../domain/generated-function.ts';
import type { Schedule } from '../domain/schedule.ts';

export interface EventLine extends FeedPlace {
  readonly event: JobEvent;
  /** The row as it was when the line was written, which may be later than the event. */
  readonly job?: ChangingJob;
  /** Written with its first event. */
  readonly fixed?: FixedJob;
  readonly input?: JobInput;
  readonly after?: readonly { readonly parentNo: number; readonly on: DependencyOn }[];
  readonly outcome?: Outcome;
  /** As JSON. */
  readonly checkpoint?: string;
  /** How a schedule came to make it; written with its first event. */
  readonly run?: RunOrigin;
  readonly approval?: ApprovalFacts;
  /** The comments from number `from` (counted from 0) on. */
  readonly comments?: { readonly from: number; readonly list: readonly JobComment[] };
}

export type RunOrigin = Pick<Run, 'scheduleId' | 'kind' | 'dueAt' | 'triggeredBy'>;
export type ApprovalFacts = Pick<Approval, 'timeoutMs' | 'auto' | 'hash'>;
/** A schedule without what follows from its clock and its runs. */
export type ScheduleFacts = Pick<
  Schedule,
  'no' | 'id' | 'spec' | 'enabled' | 'createdAt' | 'createdBy' | 'spawnedBy'
> & {
  /** Of those that may run only so often. */
  readonly runCount?: number;
};

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
  const { row, fixed, ...rest } = line;
  return {
    ...rest,
    ...(row && { job: fromRow(row) }),
    ...(fixed && { fixed: { ...FIXED_DEFAULTS, ...fixed } }),
  };
}

/** The changing fields stand there in the order of the table, without their names. */
interface StoredLine extends Omit<EventLine, 'job'> {
  readonly row?: readonly unknown[];
}

/** A journal of an older version lacks the last ones. */
const fromRow = generatedFunction(
  ['row'],
  `({ ${CHANGING.map((field, at) => {
    const value = readValue(field, `row[${at}]`);
    const { name, default: missing = null } = field;
    return `${name}: row.length > ${at} ? ${value} : ${JSON.stringify(missing)}`;
  }).join(', ')} })`,
) as (row: readonly unknown[]) => ChangingJob;

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

/** What is not printed, or was not known yet when the line was written. */
const FIXED_DEFAULTS = Object.fromEntries(
  FIXED.flatMap((field) => (field.default === undefined ? [] : [[field.name, field.default]])),
);
