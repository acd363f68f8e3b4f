/**
 * Settling leaves no event, and brings others: a chain's next run, the next in line. So the journal calls a run
 * unsettled until everything that came with its settling is in it, and then says so in a line of its own.
 */

import { isFinal, type Job, SETTLED, UNSETTLED } from '../domain/job.ts';
import type { Reads } from '../store/store.ts';

/** Rows looked at in one pass. */
const LOOK_JOBS = 500;
/** Runs that end in one moment are far fewer; whoever falls out settles once more after a rebuild. */
const KEPT = 20_000;
/** Runs whose end an earlier process may have left without its line. */
const FROM_BEFORE = 500;

type SettledReads = Pick<Reads, 'jobs' | 'runs'>;

export class Settlements {
  readonly #read: SettledReads;
  readonly #open = new Set<number>();
  #started = false;

  constructor(read: SettledReads) {
    this.#read = read;
  }

  /** The row as the journal is to have it. A run that ended before `since` has long settled. */
  shown(job: Job, since = Number.NEGATIVE_INFINITY): Job {
    // A run that was skipped is born settled, and one with a retry has an event that says so.
    if (job.scheduleId === null || !isFinal(job.state) || job.state === 'skipped') return job;
    if (job.settled === SETTLED && (job.retryAt !== null || (job.finishedAt ?? 0) < since)) return job;
    this.#add(job.no);
    return { ...job, settled: UNSETTLED };
  }

  /** Those that have settled by now. To be asked before the feed is read: then it holds what they brought. */
  async look(): Promise<number[]> {
    if (!this.#started) for (const no of await this.#read.runs.ended(FROM_BEFORE)) this.#add(no);
    this.#started = true;
    const nos = [...this.#open].slice(0, LOOK_JOBS);
    if (nos.length === 0) return [];
    const jobs = new Map((await this.#read.jobs.byNo(nos)).map((job) => [job.no, job]));
    return nos.filter((no) => {
      const job = jobs.get(no);
      if (job?.settled === SETTLED && job.retryAt === null && job.state !== 'skipped') return true;
      this.#open.delete(no);
      // To the end of the line, so that all are looked at.
      if (job?.settled === UNSETTLED) this.#open.add(no);
      return false;
    });
  }

  written(nos: readonly number[]): void {
    for (const no of nos) this.#open.delete(no);
  }

  #add(no: number): void {
    this.#open.add(no);
    const [oldest] = this.#open;
    if (this.#open.size > KEPT && oldest !== undefined) this.#open.delete(oldest);
  }
}
