/** Turns committed events into journal lines that hold all that changed with them. */

import type { EventKind } from '../domain/event.ts';
import type { Job, JobDetails } from '../domain/job.ts';
import type { FeedEvent, Reads } from '../store/store.ts';
import { type EventLine, type GateFacts, printLine, type RunOrigin } from './journal-line.ts';

export type JournalReads = Pick<
  Reads,
  'feed' | 'jobsByNo' | 'details' | 'dependenciesOf' | 'runsByNo' | 'approvalsByNo'
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

/** What the events of one job in one pass say about it. */
interface Seen {
  isNew: boolean;
  ended: boolean;
  comments: number;
  lastSeq: number;
}

/** Jobs whose input and result are in memory at once: each may be a megabyte. */
const DETAILED_AT_ONCE = 128;

/**
 * A job's row stands in the line of its first event of the pass, so that the journal may end after any line
 * and still name every job it mentions. With `rows: 'new'` only jobs that start in the pass get theirs.
 * `shown` says how a row is to stand there.
 */
export async function* journalTexts(
  read: JournalReads,
  events: readonly FeedEvent[],
  rows: 'all' | 'new',
  shown: (job: Job) => Job,
): AsyncGenerator<string> {
  const seen = look(events);
  const wanted = [...seen].filter(([, of]) => rows === 'all' || of.isNew).map(([no]) => no);
  const jobs = new Map((await read.jobsByNo(wanted)).map((job) => [job.no, shown(job)]));
  let from = 0;
  while (from < events.length) {
    const to = endOfChunk(events, from, jobs, seen);
    yield await chunkText(read, events.slice(from, to), jobs, seen);
    from = to;
  }
}

/** The first event that would bring in one detailed job too many. */
function endOfChunk(
  events: readonly FeedEvent[],
  from: number,
  jobs: ReadonlyMap<number, Job>,
  seen: ReadonlyMap<number, Seen>,
): number {
  const detailed = new Set<number>();
  for (let i = from; i < events.length; i++) {
    const no = events[i]?.jobNo ?? 0;
    if (!needsDetails(jobs.get(no), seen.get(no))) continue;
    if (detailed.add(no).size > DETAILED_AT_ONCE) return i;
  }
  return events.length;
}

/** Takes the rows it has written out of `jobs`. */
async function chunkText(
  read: JournalReads,
  events: readonly FeedEvent[],
  jobs: Map<number, Job>,
  seen: ReadonlyMap<number, Seen>,
): Promise<string> {
  const nos = new Set(events.map(({ jobNo }) => jobNo));
  const here = [...nos].flatMap((no) => jobs.get(no) ?? []);
  const detailed = here.filter((job) => needsDetails(job, seen.get(job.no)));
  const details = detailed.length === 0 ? NO_DETAILS : await read.details(detailed);
  const origins = await originsOf(
    read,
    detailed.filter((job) => seen.get(job.no)?.isNew),
  );
  let text = '';
  for (const event of events) {
    const job = jobs.get(event.jobNo);
    const of = seen.get(event.jobNo);
    if (job === undefined || of === undefined) {
      text += printLine(bare(event));
      continue;
    }
    jobs.delete(event.jobNo);
    const changed = whatChanged(job, of, details.get(job.no));
    text += printLine({ ...bare(event), job, ...changed, ...origins(job.no) });
  }
  return text;
}

/** What new jobs have beside their rows. */
async function originsOf(
  read: JournalReads,
  starting: readonly Job[],
): Promise<(jobNo: number) => Pick<EventLine, 'after' | 'run' | 'gate'>> {
  const nosOf = (jobs: readonly Job[]): number[] => jobs.map(({ no }) => no);
  const after = Map.groupBy(
    starting.length === 0 ? [] : await read.dependenciesOf(nosOf(starting)),
    (row) => row.jobNo,
  );
  const runs = new Map<number, RunOrigin>();
  for (const { jobNo, scheduleId, kind, dueAt, triggeredBy } of await read.runsByNo(
    nosOf(starting.filter((job) => job.scheduleId !== null)),
  ))
    runs.set(jobNo, { scheduleId, kind, dueAt, triggeredBy });
  const gates = new Map<number, GateFacts>();
  for (const { jobNo, timeoutMs, auto, hash } of await read.approvalsByNo(
    nosOf(starting.filter((job) => job.approval !== 'none')),
  ))
    gates.set(jobNo, { timeoutMs, auto, hash });
  return (no) => {
    const parents = after.get(no)?.map(({ parentNo, on }) => ({ parentNo, on }));
    const run = runs.get(no);
    const gate = gates.get(no);
    return { ...(parents && { after: parents }), ...(run && { run }), ...(gate && { gate }) };
  };
}

const NO_DETAILS: ReadonlyMap<number, JobDetails> = new Map();

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
function needsDetails(job: Job | undefined, of: Seen | undefined): boolean {
  if (job === undefined || of === undefined) return false;
  return of.isNew || of.ended || of.comments > 0 || job.seq > of.lastSeq;
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
