/** What the events of a pass say about their jobs, and the rows that the journal is to have of them. */

import type { EventKind, FeedEntry } from '../domain/event.ts';
import type { Job } from '../domain/job.ts';
import type { PrintedRow, Reads } from '../store/store.ts';
import type { RowsAhead } from './journal-ahead.ts';
import { printRow } from './journal-print.ts';

/** A job with events in the pass. */
export interface Seen {
  readonly jobNo: number;
  /** Its first event of the pass, whose line gets the row. */
  readonly first: FeedEntry;
  isNew: boolean;
  ended: boolean;
  comments: number;
  /** It left something for its next holder. */
  checkpointed: boolean;
  lastSeq: number;
  /** The journal has a row of it already. */
  isKnown: boolean;
  /** The row that the journal is to get with this pass. */
  row: PrintedRow | null;
  /** Null when its outcome is all that may have changed beside its row. */
  job: Job | null;
}

/** A line before it is printed. */
export interface Draft {
  readonly event: FeedEntry;
  readonly of: Seen;
}

interface Look {
  readonly jobs: ReadonlyMap<number, Seen>;
  readonly drafts: readonly Draft[];
}

/** Events that leave result and error alone. */
const QUIET: ReadonlySet<EventKind> = new Set([
  'job.created',
  'job.claimed',
  'job.heartbeat',
  'job.queued',
  'job.blocked',
  'job.scheduled',
  'job.comment',
  'job.cancel_requested',
  'job.answered',
  'job.checkpoint',
  'job.edited',
]);

export function look(events: readonly FeedEntry[]): Look {
  const jobs = new Map<number, Seen>();
  const drafts = events.map((event): Draft => {
    const { jobNo, seq, kind } = event;
    let of = jobs.get(jobNo);
    if (of === undefined) jobs.set(jobNo, (of = firstSight(event)));
    of.isNew ||= seq === 1;
    of.ended ||= !QUIET.has(kind);
    if (kind === 'job.comment') of.comments++;
    of.checkpointed ||= kind === 'job.checkpoint';
    of.lastSeq = Math.max(of.lastSeq, seq);
    return { event, of };
  });
  return { jobs, drafts };
}

function firstSight(first: FeedEntry): Seen {
  const { jobNo } = first;
  return {
    jobNo,
    first,
    isNew: false,
    ended: false,
    comments: 0,
    checkpointed: false,
    lastSeq: 0,
    isKnown: false,
    row: null,
    job: null,
  };
}

/** A row that is ahead of these events may have got a result, a comment or a checkpoint since. */
export function hasNews({ isNew, ended, comments, checkpointed, lastSeq, row }: Seen): boolean {
  return row !== null && (isNew || ended || comments > 0 || checkpointed || row.seq > lastSeq);
}

export type RowReads = Pick<Reads, 'jobs'>;

/** Those that are `ahead` have theirs already; without `ahead` only jobs that start in the pass get one. */
export async function findRows(
  read: RowReads,
  jobs: ReadonlyMap<number, Seen>,
  ahead: RowsAhead | null,
  shown: (job: Job) => Job,
): Promise<void> {
  const whole: number[] = [];
  const brief: number[] = [];
  for (const of of jobs.values()) {
    // A rewrite reads events of living jobs only, and has the rows of those that started before.
    of.isKnown = ahead === null || ahead.covers(of.jobNo, of.lastSeq);
    if (of.isNew) whole.push(of.jobNo);
    else if (!of.isKnown) brief.push(of.jobNo);
  }
  const put = (row: PrintedRow, job: Job | null): void => {
    const of = jobs.get(row.no);
    if (of === undefined) return;
    of.row = row;
    of.job = job;
    // The journal itself tells when a run has settled, after its last row.
    if (job === null || job.scheduleId === null) ahead?.add(row.no, row.seq, of.lastSeq);
  };
  if (brief.length > 0) {
    const rows = await read.jobs.printed(brief);
    for (const row of rows) put(row, null);
    if (rows.length < brief.length) for (const no of brief) if (jobs.get(no)?.row === null) whole.push(no);
  }
  if (whole.length > 0)
    for (const job of await read.jobs.byNo(whole))
      put({ no: job.no, seq: job.seq, text: printRow(shown(job)) }, job);
}
