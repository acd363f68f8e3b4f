/** Turns committed events into journal lines that hold all that changed with them. */

import type { EventKind } from '../domain/event.ts';
import type { Job, JobDetails, Outcome } from '../domain/job.ts';
import type { FeedEvent, Reads } from '../store/store.ts';
import type { RowsAhead } from './journal-ahead.ts';
import {
  type EventLine,
  type GateFacts,
  type Origin,
  printEvent,
  printRow,
  type RunOrigin,
  type Told,
} from './journal-line.ts';

export type JournalReads = Pick<
  Reads,
  | 'feed'
  | 'jobsByNo'
  | 'printedRows'
  | 'details'
  | 'outcomes'
  | 'dependenciesOf'
  | 'runsByNo'
  | 'approvalsByNo'
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
  readonly jobNo: number;
  isNew: boolean;
  ended: boolean;
  comments: number;
  lastSeq: number;
}

/** A row that the journal is to have, with what is known of its job. */
interface Found {
  readonly of: Seen;
  readonly seq: number;
  readonly row: string;
  /** Null when its outcome is all that may have changed beside its row. */
  readonly job: Job | null;
}

/** A line before it is printed: with a row, or the event alone. */
interface Draft {
  readonly event: FeedEvent;
  readonly found: Found | null;
}

/** Jobs whose input and result are in memory at once: each may be a megabyte. */
const DETAILED_AT_ONCE = 128;

/**
 * A job's row stands in the line of its first event of the pass, so that the journal may end after any line
 * and still name every job it mentions. Those that are `ahead` have theirs already; without `ahead` only jobs
 * that start in the pass get one. `shown` says how a row is to stand there.
 */
export async function* journalTexts(
  read: JournalReads,
  events: readonly FeedEvent[],
  ahead: RowsAhead | null,
  shown: (job: Job) => Job,
): AsyncGenerator<string> {
  const rows = await findRows(read, look(events), ahead, shown);
  let drafts: Draft[] = [];
  let detailed = 0;
  for (const event of events) {
    const found = rows.get(event.jobNo) ?? null;
    if (found !== null) {
      rows.delete(event.jobNo);
      if (hasNews(found)) detailed++;
    }
    if (detailed > DETAILED_AT_ONCE) {
      yield await print(read, drafts);
      drafts = [];
      detailed = 1;
    }
    drafts.push({ event, found });
  }
  yield await print(read, drafts);
}

async function findRows(
  read: JournalReads,
  seen: ReadonlyMap<number, Seen>,
  ahead: RowsAhead | null,
  shown: (job: Job) => Job,
): Promise<Map<number, Found>> {
  const found = new Map<number, Found>();
  const starting: number[] = [];
  const others: number[] = [];
  for (const of of seen.values())
    if (of.isNew) starting.push(of.jobNo);
    else if (ahead !== null && !ahead.covers(of.jobNo, of.lastSeq)) others.push(of.jobNo);
  const put = (no: number, seq: number, row: string, job: Job | null): void => {
    const of = seen.get(no);
    if (of) found.set(no, { of, seq, row, job });
  };
  for (const { no, seq, text } of await read.printedRows(others)) {
    put(no, seq, text, null);
    ahead?.add(no, seq);
  }
  const whole = [...starting, ...others.filter((no) => !found.has(no))];
  for (const job of await read.jobsByNo(whole)) {
    put(job.no, job.seq, printRow(shown(job)), job);
    // The journal itself tells when a run has settled, after its last row.
    if (job.scheduleId === null) ahead?.add(job.no, job.seq);
  }
  return found;
}

async function print(read: JournalReads, drafts: readonly Draft[]): Promise<string> {
  const news = drafts.flatMap(({ found }) => (found !== null && hasNews(found) ? found : []));
  const whole = news.flatMap(({ job }) => job ?? []);
  const details = whole.length === 0 ? NO_DETAILS : await read.details(whole);
  const brief = news.filter(({ job }) => job === null).map(({ of }) => of.jobNo);
  const outcomes = brief.length === 0 ? NO_OUTCOMES : await read.outcomes(brief);
  const origins = await originsOf(
    read,
    news.flatMap(({ job, of }) => (job !== null && of.isNew ? job : [])),
  );
  let text = '';
  for (const { event, found } of drafts) {
    const no = event.jobNo;
    text += printEvent(event, found && tell(found, details.get(no), outcomes.get(no), origins));
  }
  return text;
}

type Origins = (jobNo: number) => Pick<EventLine, Origin>;

/** What new jobs have beside their rows. */
async function originsOf(read: JournalReads, starting: readonly Job[]): Promise<Origins> {
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
const NO_OUTCOMES: ReadonlyMap<number, Outcome> = new Map();
const NO_OUTCOME: Outcome = { result: null, error: null };

function look(events: readonly FeedEvent[]): Map<number, Seen> {
  const seen = new Map<number, Seen>();
  for (const { jobNo, seq, kind } of events) {
    let of = seen.get(jobNo);
    if (of === undefined)
      seen.set(jobNo, (of = { jobNo, isNew: false, ended: false, comments: 0, lastSeq: 0 }));
    of.isNew ||= seq === 1;
    of.ended ||= !QUIET.has(kind);
    of.comments += kind === 'job.comment' ? 1 : 0;
    of.lastSeq = Math.max(of.lastSeq, seq);
  }
  return seen;
}

/** A row that is ahead of these events may have got a result or a comment since. */
function hasNews({ of, seq }: Found): boolean {
  return of.isNew || of.ended || of.comments > 0 || seq > of.lastSeq;
}

function tell(
  { of, seq, row, job }: Found,
  details: JobDetails | undefined,
  brief: Outcome | undefined,
  origins: Origins,
): Told {
  const { result, error } = details ?? brief ?? NO_OUTCOME;
  const ahead = Math.max(0, seq - of.lastSeq);
  const hasOutcome = of.isNew ? result !== null || error !== null : of.ended || ahead > 0;
  const told = hasOutcome ? { row, outcome: { result, error } } : { row };
  if (job === null || details === undefined) return told;
  // The details were read after the row and may know a comment more; its own line will bring it.
  const comments = details.comments.slice(0, job.comments);
  // Every comment is an event, so no more of them can be new than there are events the journal lacks.
  const from = of.isNew ? 0 : Math.max(0, comments.length - of.comments - ahead);
  const said = from < comments.length && (of.isNew || of.comments + ahead > 0);
  return {
    ...told,
    ...(of.isNew && { fixed: job, input: details.input, ...origins(job.no) }),
    ...(said && { comments: { from, list: comments.slice(from) } }),
  };
}
