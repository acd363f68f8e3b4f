/** Turns committed events into journal lines that hold all that changed with them. */

import type { EventKind } from '../domain/event.ts';
import type { Job, JobDetails } from '../domain/job.ts';
import type { FeedEvent, Reads } from '../store/store.ts';
import { type EventLine, printLine } from './journal-line.ts';

export type JournalReads = Pick<
  Reads,
  'feed' | 'jobsByNo' | 'details' | 'dependenciesOf' | 'types' | 'pools' | 'routing'
>;

/** Events that leave result and error alone. */
const QUIET: ReadonlySet<EventKind> = new Set([
  'job.created',
  'job.claimed',
  'job.heartbeat',
  'job.queued',
  'job.blocked',
  'job.snoozed',
  'job.comment',
  'job.cancel_requested',
]);

/** What the events of one job in one batch say about it. */
interface Seen {
  isNew: boolean;
  ended: boolean;
  comments: number;
  lastSeq: number;
}

/**
 * A job's row stands in the line of its first event of the batch, so that the journal may end after any line
 * and still name every job it mentions. With `rows: 'new'` only jobs that start in the batch get theirs.
 */
export async function journalText(
  read: JournalReads,
  events: readonly FeedEvent[],
  rows: 'all' | 'new',
): Promise<string> {
  const seen = look(events);
  const wanted = [...seen].filter(([, of]) => rows === 'all' || of.isNew).map(([no]) => no);
  const jobs = new Map((await read.jobsByNo(wanted)).map((job) => [job.no, job]));
  const detailed = [...jobs.values()].filter((job) => needsDetails(job, seen.get(job.no)));
  const details = detailed.length === 0 ? new Map<number, JobDetails>() : await read.details(detailed);
  const newNos = detailed.filter((job) => seen.get(job.no)?.isNew).map((job) => job.no);
  const after = Map.groupBy(newNos.length === 0 ? [] : await read.dependenciesOf(newNos), (row) => row.jobNo);
  let text = '';
  for (const event of events) {
    const job = jobs.get(event.jobNo);
    const of = seen.get(event.jobNo);
    if (job === undefined || of === undefined) {
      text += printLine(bare(event));
      continue;
    }
    jobs.delete(event.jobNo);
    const parents = after.get(job.no)?.map(({ parentNo, on }) => ({ parentNo, on }));
    text += printLine({
      ...bare(event),
      job,
      ...whatChanged(job, of, details.get(job.no)),
      ...(parents && { after: parents }),
    });
  }
  return text;
}

function bare({ pos, ordinal, jobNo, seq, at, kind, by, facts }: FeedEvent): EventLine {
  return { pos, ordinal, event: { jobNo, seq, at, kind, by, facts } };
}

function look(events: readonly FeedEvent[]): Map<number, Seen> {
  const seen = new Map<number, Seen>();
  for (const { jobNo, seq, kind } of events) {
    let of = seen.get(jobNo);
    if (of === undefined) seen.set(jobNo, (of = { isNew: false, ended: false, comments: 0, lastSeq: 0 }));
    of.isNew ||= seq === 1;
    of.ended ||= !QUIET.has(kind);
    of.comments += kind === 'job.comment' ? 1 : 0;
    of.lastSeq = Math.max(of.lastSeq, seq);
  }
  return seen;
}

/** A row that is ahead of these events may have got a result or a comment since. */
function needsDetails(job: Job, of: Seen | undefined): boolean {
  return of !== undefined && (of.isNew || of.ended || of.comments > 0 || job.seq > of.lastSeq);
}

function whatChanged(job: Job, of: Seen, details: JobDetails | undefined): Partial<EventLine> {
  if (details === undefined) return {};
  const { input, result, error } = details;
  // The details were read after the row and may know a comment more; its own line will bring it.
  const comments = details.comments.slice(0, job.comments);
  const ahead = Math.max(0, job.seq - of.lastSeq);
  // Every comment is an event, so no more of them can be new than there are events the journal lacks.
  const from = of.isNew ? 0 : Math.max(0, comments.length - of.comments - ahead);
  const said = from < comments.length && (of.isNew || of.comments + ahead > 0);
  const hasOutcome = of.isNew ? result !== null || error !== null : of.ended || ahead > 0;
  return {
    ...(of.isNew && { fixed: job, input }),
    ...(hasOutcome && { outcome: { result, error } }),
    ...(said && { comments: { from, list: comments.slice(from) } }),
  };
}
