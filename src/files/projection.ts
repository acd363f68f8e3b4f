/** Files that people and scripts can read: one per job, job's history, type and schedule. Lags, never slows. */

import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { FeedEvent, FeedPlace } from '../domain/event.ts';
import type { JobType } from '../domain/job-type.ts';
import type { Job } from '../domain/job.ts';
import type { Clock } from '../domain/ports.ts';
import type { Store } from '../store/store.ts';
import { syncFolder } from '../disk/folder.ts';
import { replaceFile } from './atomic.ts';
import { appendEvents, rewriteEvents } from './event-file.ts';
import { fileNameOf } from './file-name.ts';
import { jobDocument, typeDocument } from './job-document.ts';
import { relationsOf } from './job-relations.ts';
import { isAfter, markOf, type Pass, placeOf } from './feed-mark.ts';
import { ScheduleFiles } from './schedule-files.ts';
import { openWatermark, readWatermark, type Watermark, writeWatermark } from './watermark.ts';

export interface ProjectionOptions {
  /** The data dir, in which jobs/, events/, types/ and schedules/ lie. */
  readonly dir: string;
  readonly store: Pick<Store, 'identity' | 'read'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether compareFiles() has looked at them since the server's start. */
  readonly compared?: boolean;
  /** Jobs written in one pass at most. */
  readonly jobsPerPass?: number;
  /** A pass ends early after this time, and the earlier the busier the engine is. */
  readonly budgetMs?: number;
  /** How busy the engine is, from 0 to 1. */
  readonly busy?: () => number;
}

const PASS_EVENTS = 500;
const JOBS_PER_PASS = 200;
const BUDGET_MS = 60;
/** Jobs whose files are written side by side. */
const AT_ONCE = 8;
/** After a pass of some time a busy engine gets this many times as much to itself: both wait for the same disk. */
const REST_FACTOR = 20;
const REMEMBERED_ENDS = 20_000;
const LOOK_AT_TYPES_EVERY_MS = 5_000;

export interface Projection {
  runOnce(): Promise<Pass>;
  /** Deletes the files of jobs that are being pruned. */
  removeFiles(ids: readonly string[]): Promise<void>;
  /** The next pass looks at types and schedules, however short ago they were looked at. */
  hurry(): void;
  watermark(): FeedPlace;
  /** How old the newest written event is while there are others to write; 0 when all are written. */
  lagMs(): number;
}

/** Unless they were compared with the database before: to be opened before the first command runs. */
export async function openProjection(options: ProjectionOptions): Promise<Projection> {
  const { dir, store, compared = false } = options;
  for (const folder of ['jobs', 'events', 'types', 'schedules'])
    await mkdir(path.join(dir, folder), { recursive: true, mode: 0o700 });
  const watermark = compared ? await readWatermark(dir) : await openWatermark(dir, store);
  return new FileProjection(options, watermark);
}

interface Batch {
  readonly job: Job;
  readonly events: readonly FeedEvent[];
}

class FileProjection implements Projection {
  readonly #options: ProjectionOptions;
  readonly #ends = new Map<number, number>();
  readonly #types = new Map<string, string>();
  readonly #schedules: ScheduleFiles;
  #watermark: Watermark;
  #typesAt = Number.NEGATIVE_INFINITY;
  #caughtUp = false;
  #lastPass: Promise<unknown> = Promise.resolve();

  constructor(options: ProjectionOptions, watermark: Watermark) {
    this.#options = options;
    this.#watermark = watermark;
    this.#schedules = new ScheduleFiles(
      path.join(options.dir, 'schedules'),
      options.store.read,
      options.clock,
    );
  }

  hurry(): void {
    this.#typesAt = Number.NEGATIVE_INFINITY;
    this.#schedules.hurry();
  }

  runOnce(): Promise<Pass> {
    return this.#alone(() => this.#pass());
  }

  removeFiles(ids: readonly string[]): Promise<void> {
    // Not during a pass: it may be about to write the file of a job it has read before.
    return this.#alone(async () => {
      for (const id of ids) {
        for (const file of [this.#jobFile(id), this.#eventFile(id)]) {
          await rm(file, { force: true });
          await rm(`${file}.tmp`, { force: true });
        }
      }
      this.#ends.clear();
    });
  }

  watermark(): FeedPlace {
    return placeOf(this.#watermark.mark);
  }

  lagMs(): number {
    const { mark } = this.#watermark;
    return this.#caughtUp || mark === null ? 0 : Math.max(0, this.#options.clock.now() - mark.at);
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#lastPass.then(work);
    this.#lastPass = mine.catch(() => undefined);
    return mine;
  }

  async #pass(): Promise<Pass> {
    const { store, dir, clock, jobsPerPass = JOBS_PER_PASS, busy = () => 0 } = this.#options;
    const startedAt = clock.now();
    const found = await store.read.feed.after(this.watermark(), PASS_EVENTS);
    const events = upToJobs(found, jobsPerPass);
    const written = await this.#writeJobs(events);
    const settings = (await this.#writeTypes()) + (await this.#schedules.write());
    const more = written.length < found.length || found.length === PASS_EVENTS;
    const last = written.at(-1);
    if (last) {
      await syncFolder(path.join(dir, 'jobs'));
      await syncFolder(path.join(dir, 'events'));
      this.#watermark = { mark: markOf(last), rewriteTo: more ? this.#watermark.rewriteTo : null };
      await writeWatermark(dir, store.identity, this.#watermark);
    }
    this.#caughtUp = !more;
    const done = written.length + settings;
    if (!more && !this.#schedules.underWay) return { done, more };
    // Always a while later, never at once: however much there is to write, the engine comes first.
    const restMs = REST_FACTOR * busy() * (clock.now() - startedAt);
    return { done, more: false, nextInMs: Math.max(1, restMs) };
  }

  /** Answers the events that are on the disk now: all, or as many as the time allowed. */
  async #writeJobs(events: readonly FeedEvent[]): Promise<readonly FeedEvent[]> {
    const { store, clock, busy = () => 0 } = this.#options;
    const budgetMs = (this.#options.budgetMs ?? BUDGET_MS) * (1 - busy());
    const byJob = [...Map.groupBy(events, (event) => event.jobNo)];
    const startedAt = clock.now();
    for (let i = 0; i < byJob.length; i += AT_ONCE) {
      if (i > 0 && clock.now() - startedAt >= budgetMs) {
        const next = byJob[i]?.[0];
        return events.slice(
          0,
          events.findIndex((event) => event.jobNo === next),
        );
      }
      const some = byJob.slice(i, i + AT_ONCE);
      const jobs = new Map((await store.read.jobs.byNo(some.map(([no]) => no))).map((job) => [job.no, job]));
      await this.#writeSome(
        some.flatMap(([no, its]): Batch[] => {
          const job = jobs.get(no);
          return job === undefined ? [] : [{ job, events: its }];
        }),
      );
    }
    return events;
  }

  async #writeSome(batches: readonly Batch[]): Promise<void> {
    const { read } = this.#options.store;
    const jobs = batches.map(({ job }) => job);
    const details = await read.details.of(jobs);
    const relations = await relationsOf(read, jobs);
    const ends = await Promise.allSettled(
      batches.map(async ({ job, events }) => {
        await this.#writeHistory(job, events);
        const of = details.get(job.no);
        if (of) await replaceFile(this.#jobFile(job.id), jobDocument(job, of, relations(job.no)));
      }),
    );
    // All have ended before an error is told: the next pass must not meet a write that is still under way.
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async #writeHistory(job: Job, events: readonly FeedEvent[]): Promise<void> {
    const { read } = this.#options.store;
    const file = this.#eventFile(job.id);
    const { rewriteTo } = this.#watermark;
    const [first] = events;
    const known = this.#ends.get(job.no) ?? null;
    // After a failed write nobody knows where the file ends; then it is looked up.
    this.#ends.delete(job.no);
    const isStale =
      first !== undefined && first.seq === 1 && rewriteTo !== null && !isAfter(first, rewriteTo);
    const end = isStale ? null : await appendEvents(file, events, known);
    if (this.#ends.size > REMEMBERED_ENDS) this.#ends.clear();
    this.#ends.set(job.no, end ?? (await rewriteEvents(file, read, job.no)));
  }

  async #writeTypes(): Promise<number> {
    const { store, clock, dir } = this.#options;
    if (clock.now() - this.#typesAt < LOOK_AT_TYPES_EVERY_MS) return 0;
    this.#typesAt = clock.now();
    let written = 0;
    for (const type of await store.read.types.all()) written += (await this.#writeType(type)) ? 1 : 0;
    if (written > 0) await syncFolder(path.join(dir, 'types'));
    return written;
  }

  async #writeType(type: JobType): Promise<boolean> {
    const text = typeDocument(type);
    const file = path.join(this.#options.dir, 'types', `${fileNameOf(type.name)}.json`);
    const known = this.#types.get(type.name) ?? (await readFile(file, 'utf8').catch(() => null));
    if (known !== text) await replaceFile(file, text);
    this.#types.set(type.name, text);
    return known !== text;
  }

  #jobFile(id: string): string {
    return path.join(this.#options.dir, 'jobs', `${fileNameOf(id)}.json`);
  }

  #eventFile(id: string): string {
    return path.join(this.#options.dir, 'events', `${fileNameOf(id)}.jsonl`);
  }
}

/** The events before the one that would bring in one job too many. */
function upToJobs(events: readonly FeedEvent[], jobs: number): readonly FeedEvent[] {
  const seen = new Set<number>();
  const end = events.findIndex(({ jobNo }) => seen.add(jobNo).size > jobs);
  return end < 0 ? events : events.slice(0, end);
}
