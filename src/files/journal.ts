/** The append-only journal: what `spine rebuild` makes a database from. */

import type { FeedEntry, FeedPlace } from '../domain/event.ts';
import type { Job } from '../domain/job.ts';
import type { Clock } from '../domain/ports.ts';
import type { Schedule } from '../domain/schedule.ts';
import type { Store } from '../store/store.ts';
import { RowsAhead } from './journal-ahead.ts';
import { Compaction } from './journal-compact.ts';
import { journalTexts } from './journal-entry.ts';
import { printLine } from './journal-line.ts';
import { type JournalEnd, mendEnd, readEnd, Segments } from './journal-segments.ts';
import { Settlements } from './journal-settled.ts';
import { scheduleLine, scheduleLines, Settings } from './journal-settings.ts';
import { compareJournal } from './startup-check.ts';
import { type Mark, markOf, type Pass, placeOf } from './feed-mark.ts';
import { ScheduleRounds } from './schedule-rounds.ts';

export interface JournalOptions {
  /** The folder `journal/` in the data dir. */
  readonly dir: string;
  readonly store: Pick<Store, 'identity' | 'read'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether compareFiles() has looked at it since the server's start. */
  readonly compared?: boolean;
  readonly segmentBytes?: number;
  /** The journal is rewritten when it is larger than this and than four times what is alive in it. */
  readonly compactAboveBytes?: number;
}

const SEGMENT_BYTES = 64 * 1024 * 1024;
const COMPACT_ABOVE_BYTES = 256 * 1024 * 1024;
const COMPACT_FACTOR = 4;

/** Events of one pass, which ends with one sync: with fewer of them a slow disk would hold the journal up. */
const PASS_EVENTS = 4_000;
const PASS_SCHEDULES = 250;

export interface Journal {
  /** Where an older journal went that does not belong to this database, if there was one. */
  readonly setAside: string | null;
  runOnce(): Promise<Pass>;
  /** Jobs that were deleted: they get their line with the next pass. */
  prune(ids: readonly string[]): void;
  /** The next pass looks at all that has no events, however short ago it was looked at. */
  hurry(): void;
  watermark(): FeedPlace;
  /** How old the newest written event is while there are others to write; 0 when all are written. */
  lagMs(): number;
  close(): Promise<void>;
}

/** Unless it was compared with the database before: to be opened before the first command runs. */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const { dir, store, compared = false } = options;
  const setAside = compared ? null : (await compareJournal(dir, store)).setAside;
  await mendEnd(dir);
  const end = await readEnd(dir);
  const segments = await Segments.open(dir, store.identity);
  return new FeedJournal(options, segments, end, setAside);
}

/** A run with a new event may have been opened again since it was looked at; the next look knows. */
function withoutNews(settled: readonly number[], events: readonly FeedEntry[]): readonly number[] {
  if (settled.length === 0) return settled;
  const news = new Set(events.map(({ jobNo }) => jobNo));
  return settled.filter((no) => !news.has(no));
}

class FeedJournal implements Journal {
  readonly setAside: string | null;
  readonly #options: JournalOptions;
  readonly #segments: Segments;
  readonly #settings: Settings;
  readonly #schedules: ScheduleRounds;
  readonly #settlements: Settlements;
  readonly #ahead = new RowsAhead();
  #mark: Mark | null;
  #bytes: number;
  #liveBytes: number;
  #caughtUp = false;
  #pruned: string[] = [];
  #compaction: Compaction | null = null;

  constructor(options: JournalOptions, segments: Segments, end: JournalEnd, setAside: string | null) {
    this.#options = options;
    this.#segments = segments;
    this.#settings = new Settings(options.store.read, options.clock);
    const { read } = options.store;
    const print = (schedules: readonly Schedule[]): string[] => schedules.map(scheduleLine);
    this.#schedules = new ScheduleRounds({ read, clock: options.clock, pageSize: PASS_SCHEDULES, print });
    this.#settlements = new Settlements(read);
    this.#mark = end.mark;
    this.#bytes = end.bytes;
    this.#liveBytes = end.baseBytes;
    this.setAside = setAside;
  }

  async runOnce(): Promise<Pass> {
    const done = await this.#writeEvents();
    const more = done === PASS_EVENTS;
    this.#caughtUp = !more;
    const compacting = await this.#compact();
    return { done, more: more || compacting || this.#schedules.underWay };
  }

  hurry(): void {
    this.#settings.hurry();
    this.#schedules.hurry();
  }

  prune(ids: readonly string[]): void {
    this.#pruned.push(...ids);
  }

  watermark(): FeedPlace {
    return placeOf(this.#mark);
  }

  lagMs(): number {
    return this.#caughtUp || this.#mark === null ? 0 : Math.max(0, this.#options.clock.now() - this.#mark.at);
  }

  async close(): Promise<void> {
    await this.#compaction?.abandon();
    this.#compaction = null;
    await this.#segments.close();
  }

  async #writeEvents(): Promise<number> {
    const { read } = this.#options.store;
    const settled = await this.#settlements.look();
    const events = await read.feed.entries(this.watermark(), PASS_EVENTS);
    const pruned = [...this.#pruned];
    const step = await this.#schedules.next();
    const settings = (await this.#settings.changes(events)) + (step === null ? '' : scheduleLines(step));
    // As long as the feed has more, what their settling brought may be in the rest of it.
    const ends = events.length < PASS_EVENTS ? withoutNews(settled, events) : [];
    const isIdle = events.length + pruned.length + ends.length === 0 && settings === '';
    if (!isIdle) this.#bytes += await this.#segments.append(this.#texts(settings, events, ends, pruned));
    if (step !== null) this.#schedules.done(step);
    if (isIdle) return 0;
    this.#settings.written();
    this.#settlements.written(ends);
    this.#ahead.written();
    this.#pruned = this.#pruned.slice(pruned.length);
    const last = events.at(-1);
    if (last) this.#mark = markOf(last);
    if (this.#segments.size >= (this.#options.segmentBytes ?? SEGMENT_BYTES))
      await this.#segments.startNext();
    return events.length;
  }

  async *#texts(
    settings: string,
    events: readonly FeedEntry[],
    settled: readonly number[],
    pruned: readonly string[],
  ): AsyncGenerator<string> {
    yield settings;
    this.#ahead.begin();
    const shown = (job: Job): Job => this.#settlements.shown(job);
    yield* journalTexts(this.#options.store.read, events, this.#ahead, shown);
    if (settled.length > 0) yield printLine({ settled });
    if (pruned.length > 0) yield printLine({ pruned });
  }

  /** One bounded step; answers whether there is another one. */
  async #compact(): Promise<boolean> {
    if (this.#compaction === null) {
      const limit = Math.max(
        this.#options.compactAboveBytes ?? COMPACT_ABOVE_BYTES,
        COMPACT_FACTOR * this.#liveBytes,
      );
      const isLost = await this.#segments.isLost();
      if ((!isLost && this.#bytes <= limit) || this.#mark === null) return false;
      const upTo = this.#segments.number;
      await this.#segments.startNext();
      this.#compaction = new Compaction(
        this.#options.dir,
        this.#options.store,
        this.#settlements,
        this.#mark,
        upTo,
      );
    }
    const finished = await this.#compaction.step();
    if (finished === null) return true;
    this.#compaction = null;
    this.#segments.isWhole();
    this.#liveBytes = finished;
    this.#bytes = (await readEnd(this.#options.dir)).bytes;
    return false;
  }
}
