/** Plays journal lines into a new database; the last row that the journal has of a job wins. */

import type { Rewording } from '../domain/command.ts';
import type { FeedPlace, JobEvent } from '../domain/event.ts';
import { FIXED_REWORDED, type RowRewording } from '../domain/job-fields.ts';
import type { Job, JobComment, JobInput, State } from '../domain/job.ts';
import { contextOfFound } from '../domain/run-context.ts';
import { RUN_ENDED } from '../domain/run.ts';
import type { EventLine } from '../files/journal-line.ts';
import type { Change, Store, Tx } from '../store/store.ts';
import { count } from './counts.ts';
import { approvalMoves, moveApprovals } from './rebuild-approvals.ts';
import { moveQuestions } from './rebuild-questions.ts';

/** A job while a batch is applied to it. In the database its `seq` is always that of its last stored event. */
interface Work {
  readonly before: Job | null;
  after: Job;
  input: JobInput | null;
  /** The line that brought it into being, of those that start in the batch. */
  readonly start: EventLine | null;
  /** Which line of the batch brought its last row. */
  rowAt: number;
}

type NewComment = JobComment & { readonly jobNo: number; readonly seq: number };
type Placed = JobEvent & FeedPlace;

export class JobReplay {
  jobs = 0;
  events = 0;
  /** Dependencies by the waiting job; written at the end, when it is known who still waits. */
  readonly after = new Map<number, NonNullable<EventLine['after']>>();
  /** Jobs whose row is newer than their last event, with the number the row had. */
  readonly ahead = new Map<number, number>();
  /** Jobs of the last commit that the journal tells of: it may have been cut off in the middle of it. */
  readonly lastCommit = new Set<number>();
  #lastPos = 0;
  /** Jobs whose uniqueKey another open job has by now: they have ended, and their own line may still come. */
  readonly displaced = new Set<number>();
  /** Jobs that a schedule made, jobs with an approval, and jobs that have asked something. */
  readonly runs = new Set<number>();
  readonly withApproval = new Set<number>();
  readonly withQuestions = new Set<number>();
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  apply(lines: readonly EventLine[]): Promise<void> {
    return this.#store.transaction(0, (tx) => this.#apply(tx, lines));
  }

  prune(ids: readonly string[]): Promise<void> {
    return this.#store.transaction(0, async (tx) => {
      const jobs = await tx.jobs.lock(ids);
      for (const { no } of jobs)
        for (const about of [
          this.after,
          this.ahead,
          this.lastCommit,
          this.displaced,
          this.runs,
          this.withApproval,
          this.withQuestions,
        ])
          about.delete(no);
      await tx.jobs.remove(jobs.map(({ no }) => no));
      await count(
        tx,
        jobs.map(({ target, state }) => ({ target, state, by: -1 })),
      );
      this.jobs -= jobs.length;
      this.events -= jobs.reduce((sum, { seq }) => sum + seq, 0);
    });
  }

  async #apply(tx: Tx, lines: readonly EventLine[]): Promise<void> {
    const known = await tx.jobs.lockByNo([...new Set(lines.map(({ event }) => event.jobNo))]);
    const works = new Map<number, Work>(
      known.map((job) => [job.no, { before: job, after: job, input: null, start: null, rowAt: -1 }]),
    );
    const events: Placed[] = [];
    const comments: NewComment[] = [];
    const checkpoints = new Map<number, string>();
    const outcomes = new Map<number, { jobNo: number; result: string | null; error: string | null }>();
    for (const [at, line] of lines.entries()) {
      const { jobNo } = line.event;
      const work = this.#take(works, line);
      // A job whose start is gone was pruned later, and the journal was rewritten without it.
      if (work === null) continue;
      if (line.job) work.rowAt = at;
      if (line.event.seq > work.after.seq) {
        this.#rememberCommit(line);
        events.push({ ...line.event, pos: line.pos, ordinal: line.ordinal });
        work.after = { ...work.after, seq: line.event.seq };
      }
      work.after = { ...work.after, ...fixedAnew(line.event) };
      comments.push(...newComments(work, line));
      if (line.outcome) outcomes.set(jobNo, { jobNo, ...line.outcome });
      if (line.checkpoint !== undefined) checkpoints.set(jobNo, line.checkpoint);
      if (line.after) this.after.set(jobNo, line.after);
      if (work.after.seq >= (this.ahead.get(jobNo) ?? 0)) this.ahead.delete(jobNo);
    }
    await this.#write(tx, [...works.values()]);
    await this.#putSideRows(tx, [...works.values()]);
    await moveApprovals(tx, approvalMoves(events.filter(({ jobNo }) => this.withApproval.has(jobNo))));
    await moveQuestions(tx, events, (jobNo) => works.get(jobNo)?.after);
    await putCheckpoints(tx, [...works.values()], checkpoints);
    await tx.feed.insertRaw(events);
    await tx.jobs.joinMeta(events.flatMap(saidLater));
    await tx.jobs.reword(events.flatMap(reworded));
    await tx.jobs.saveOutcomes([...outcomes.values()]);
    await tx.comments.add(comments);
    this.events += events.length;
  }

  #rememberCommit({ pos, event }: EventLine): void {
    if (pos > this.#lastPos) this.lastCommit.clear();
    this.#lastPos = Math.max(this.#lastPos, pos);
    this.lastCommit.add(event.jobNo);
  }

  #take(works: Map<number, Work>, line: EventLine): Work | null {
    const { jobNo } = line.event;
    const work = works.get(jobNo);
    if (line.job) {
      this.displaced.delete(jobNo);
      if (line.job.seq > line.event.seq) this.ahead.set(jobNo, line.job.seq);
    }
    if (work !== undefined) {
      const { seq, comments } = work.after;
      if (line.job) work.after = { ...work.after, ...line.job, seq, comments };
      return work;
    }
    if (!line.fixed || !line.input || !line.job) return null;
    // The journal's writer puts all of a row into `fixed` and `job`.
    const after = { ...line.fixed, ...line.job, no: jobNo, seq: 0, comments: 0 } as Job;
    const made: Work = { before: null, after, input: line.input, start: line, rowAt: -1 };
    works.set(jobNo, made);
    return made;
  }

  /** Rows that end come first: they may free the key of one that starts. */
  async #write(tx: Tx, works: readonly Work[]): Promise<void> {
    const ended = works.filter(({ after }) => after.finishedAt !== null);
    const open = works.filter(({ after }) => after.finishedAt === null).toSorted((a, b) => a.rowAt - b.rowAt);
    await this.#put(tx, ended);
    for (const work of open) {
      await this.#displace(tx, work.after);
      await this.#put(tx, [work]);
    }
    await count(tx, works.flatMap(moves));
  }

  async #put(tx: Tx, works: readonly Work[]): Promise<void> {
    const fresh = works.flatMap(({ before, after, input }) =>
      before === null && input ? [{ job: after, input }] : [],
    );
    const changes = works.flatMap(({ before, after }): Change[] =>
      before === null ? [] : [{ before, after, kind: 'other' }],
    );
    if (fresh.length > 0) await tx.jobs.insertRaw(fresh);
    if (changes.length > 0) await tx.jobs.update(changes);
    this.jobs += fresh.length;
  }

  /** As they were when the job was made; how they stand follows at the end. */
  async #putSideRows(tx: Tx, works: readonly Work[]): Promise<void> {
    for (const { after, start } of works) {
      const jobNo = after.no;
      if (after.questions > 0) this.withQuestions.add(jobNo);
      if (start?.run) {
        const contextSummary = contextOfFound(JSON.parse(start.input?.meta ?? 'null'), after.state);
        await tx.runs.insert([{ jobNo, ...start.run, active: RUN_ENDED, ...NO_NOTES, contextSummary }]);
        this.runs.add(jobNo);
      }
      if (start?.approval) {
        const { scheduleId } = after;
        await tx.approvals.insert({ jobNo, scheduleId, status: 'pending', ...start.approval, ...NOT_ASKED });
        this.withApproval.add(jobNo);
      }
    }
  }

  /** Two open jobs never had one key: the one the database has here is the older news of the two. */
  async #displace(tx: Tx, job: Job): Promise<void> {
    if (job.uniqueKey === null) return;
    const holder = await tx.jobs.findUnique(job.typeNo, job.uniqueKey);
    if (holder === null || holder === job.id) return;
    for (const other of await tx.jobs.lock([holder])) {
      await tx.jobs.update([
        { before: other, after: { ...other, finishedAt: job.updatedAt }, kind: 'other' },
      ]);
      this.displaced.add(other.no);
    }
  }
}

/** The input that a job begins with may have it already: to join it again changes nothing. */
function saidLater({ kind, jobNo, facts }: JobEvent): { jobNo: number; metadata: string }[] {
  const metadata = kind === 'job.edited' ? facts?.['metadata'] : undefined;
  return metadata === undefined ? [] : [{ jobNo, metadata: JSON.stringify(metadata) }];
}

/** The input that a job begins with may say so already: to say it again changes nothing. */
function reworded(event: JobEvent): { jobNo: number; asked: Rewording }[] {
  const said = askedAnew(event);
  if (said === null) return [];
  const { params, ...asked } = said;
  return [
    {
      jobNo: event.jobNo,
      asked: { ...asked, ...(params !== undefined && { params: JSON.stringify(params) }) },
    },
  ];
}

/** What else is said anew of the row comes with the row. */
function fixedAnew(event: JobEvent): RowRewording {
  const said = askedAnew(event);
  return Object.fromEntries(
    FIXED_REWORDED.flatMap(({ name }) => (said?.[name] === undefined ? [] : [[name, said[name]]])),
  );
}

function askedAnew({ kind, facts }: JobEvent): (Omit<Rewording, 'params'> & { params?: unknown }) | null {
  const asked = kind === 'job.edited' ? facts?.['asked'] : undefined;
  // Our own words: reword.ts writes them.
  return typeof asked === 'object' ? asked : null;
}

const NO_NOTES = {
  sessionKey: null,
  transport: null,
  dispatchedAt: null,
  lastHeartbeat: null,
  promptHash: null,
} as const;
const NOT_ASKED = {
  requestedAt: null,
  expiresAt: null,
  resolvedAt: null,
  resolvedBy: null,
  notes: null,
} as const;

/** One that its job has done without since is not needed any more. */
async function putCheckpoints(
  tx: Tx,
  works: readonly Work[],
  found: ReadonlyMap<number, string>,
): Promise<void> {
  for (const { before, after } of works) {
    const value = found.get(after.no);
    if (after.checkpointAt === null) {
      if (before !== null && before.checkpointAt !== null) await tx.checkpoints.remove(after.no);
    } else if (value !== undefined) await tx.checkpoints.save([{ jobNo: after.no, value }]);
  }
}

function newComments(work: Work, { event, comments }: EventLine): NewComment[] {
  if (comments === undefined) return [];
  const had = work.after.comments;
  const list = comments.list.slice(Math.max(0, had - comments.from));
  work.after = { ...work.after, comments: had + list.length };
  return list.map((comment, i) => ({ ...comment, jobNo: event.jobNo, seq: had + i + 1 }));
}

function moves({ before, after }: Work): { target: string; state: State; by: number }[] {
  if (before?.state === after.state && before.target === after.target) return [];
  const left = before === null ? [] : [{ target: before.target, state: before.state, by: -1 }];
  return [...left, { target: after.target, state: after.state, by: 1 }];
}
