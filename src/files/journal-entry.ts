/** Turns committed events into journal lines that hold all that changed with them. */

import type { FeedEntry } from '../domain/event.ts';
import { type Job, NO_OUTCOME } from '../domain/job.ts';
import type { PrintedRow } from '../store/store.ts';
import type { RowsAhead } from './journal-ahead.ts';
import { type Beside, type BesideReads, besideRows } from './journal-beside.ts';
import { EventPrinter, type Told } from './journal-print.ts';
import { type Draft, findRows, hasNews, look, type RowReads, type Seen } from './journal-rows.ts';

/** Jobs whose input and result are in memory at once: each may be a megabyte. */
const DETAILED_AT_ONCE = 128;

/**
 * A job's row stands in the line of its first event of the pass, so that the journal may end after any line
 * and still name every job it mentions. Those that are `ahead` have theirs already; without `ahead` only jobs
 * that start in the pass get one. `shown` says how a row is to stand there.
 */
export async function* journalTexts(
  read: RowReads & BesideReads,
  events: readonly FeedEntry[],
  ahead: RowsAhead | null,
  shown: (job: Job) => Job,
): AsyncGenerator<string> {
  const { jobs, drafts } = look(events);
  await findRows(read, jobs, ahead, shown);
  const printer = new EventPrinter();
  let some: Draft[] = [];
  let news: Seen[] = [];
  for (const draft of drafts) {
    const { event, of } = draft;
    // Nobody has its row any more: it was pruned, and the journal is not to name it.
    if (of.row === null && !of.isKnown) continue;
    if (event === of.first && hasNews(of)) {
      if (news.length === DETAILED_AT_ONCE) {
        yield print(printer, some, await besideRows(read, news));
        some = [];
        news = [];
      }
      news.push(of);
    }
    some.push(draft);
  }
  if (some.length > 0) yield print(printer, some, await besideRows(read, news));
}

function print(printer: EventPrinter, drafts: readonly Draft[], beside: Beside): string {
  let text = '';
  for (const { event, of } of drafts) {
    const told = event === of.first && of.row !== null ? tell(of, of.row, beside) : null;
    text += printer.print(event, told);
  }
  return text;
}

function tell(
  of: Seen,
  { seq, text: row }: PrintedRow,
  { details, outcomes, checkpoints, origins }: Beside,
): Told {
  const { job } = of;
  const whole = details.get(of.jobNo);
  const ahead = Math.max(0, seq - of.lastSeq);
  const outcome = whole
    ? { result: whole.result, error: whole.error }
    : (outcomes.get(of.jobNo) ?? NO_OUTCOME);
  const hasOutcome = of.isNew ? outcome.result !== null || outcome.error !== null : of.ended || ahead > 0;
  const told = hasOutcome ? { row, outcome } : { row };
  if (job === null || whole === undefined) return told;
  const checkpoint = checkpoints.get(of.jobNo);
  // The details were read after the row and may know a comment more; its own line will bring it.
  const comments = whole.comments.slice(0, job.comments);
  // Every comment is an event, so no more of them can be new than there are events the journal lacks.
  const from = of.isNew ? 0 : Math.max(0, comments.length - of.comments - ahead);
  const said = from < comments.length && (of.isNew || of.comments + ahead > 0);
  return {
    ...told,
    ...(checkpoint !== undefined && { checkpoint }),
    ...(of.isNew && { fixed: job, input: whole.input, ...origins(job.no) }),
    ...(said && { comments: { from, list: comments.slice(from) } }),
  };
}
