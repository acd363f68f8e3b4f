/** Writes what is still alive into one new file that takes the place of all older ones. */

import { type FileHandle, open, rm } from 'node:fs/promises';
import type { FeedPlace } from '../domain/event.ts';
import type { Job } from '../domain/job.ts';
import type { Store } from '../store/store.ts';
import { journalTexts } from './journal-entry.ts';
import { printLine } from './journal-line.ts';
import { Sealer } from './journal-seal.ts';
import { putBase, segmentFile } from './journal-segments.ts';
import type { Settlements } from './journal-settled.ts';
import { scheduleLine, settingLines } from './journal-settings.ts';
import { isAfter, type Mark, START } from './feed-mark.ts';

/** Events of one step: a few milliseconds. */
const STEP_EVENTS = 256;
const STEP_SCHEDULES = 250;
/** Runs that ended longer ago than this have settled, and the journal holds what that brought. */
const SETTLING_MS = 600_000;

export class Compaction {
  readonly #dir: string;
  readonly #store: Pick<Store, 'identity' | 'read'>;
  readonly #settlements: Settlements;
  readonly #end: Mark;
  readonly #upTo: number;
  #place: FeedPlace = START;
  /** Where the next page of schedules begins; null when all are written. */
  #scheduleNo: number | null = 0;
  #handle: FileHandle | null = null;
  #sealer = new Sealer();
  #bytes = 0;

  /** Replaces the segments up to number `upTo`, which hold the feed up to `end`. */
  constructor(
    dir: string,
    store: Pick<Store, 'identity' | 'read'>,
    settlements: Settlements,
    end: Mark,
    upTo: number,
  ) {
    this.#dir = dir;
    this.#settlements = settlements;
    this.#store = store;
    this.#end = end;
    this.#upTo = upTo;
  }

  /** Answers the size of the finished file, or null while there is more to do. */
  async step(): Promise<number | null> {
    try {
      const { read } = this.#store;
      if (this.#handle === null) await this.#start();
      if (this.#scheduleNo !== null) {
        this.#scheduleNo = await this.#writeSchedules(this.#scheduleNo);
        return null;
      }
      const since = this.#end.at - SETTLING_MS;
      const shown = (job: Job): Job => this.#settlements.shown(job, since);
      const found = await read.feed.after(this.#place, STEP_EVENTS);
      const events = found.filter((event) => !isAfter(event, this.#end));
      for await (const text of journalTexts(read, events, null, shown)) await this.#write(text);
      const last = events.at(-1);
      await this.#seal();
      if (last) this.#place = last;
      return events.length === STEP_EVENTS ? null : await this.#finish();
    } catch (error) {
      // The old segments are all still there; the next pass starts a new attempt.
      await this.abandon();
      throw error;
    }
  }

  async abandon(): Promise<void> {
    await this.#handle?.close();
    this.#handle = null;
    this.#place = START;
    this.#scheduleNo = 0;
    this.#sealer = new Sealer();
    this.#bytes = 0;
    await rm(this.#temp, { force: true });
  }

  get #temp(): string {
    return `${segmentFile(this.#dir, this.#upTo, true)}.tmp`;
  }

  async #start(): Promise<void> {
    this.#handle = await open(this.#temp, 'w', 0o600);
    await this.#write(printLine({ spine: 1, identity: this.#store.identity }));
    await this.#write([...(await settingLines(this.#store.read)).values()].join(''));
  }

  async #writeSchedules(afterNo: number): Promise<number | null> {
    const page = await this.#store.read.schedules.list({ afterNo, limit: STEP_SCHEDULES });
    await this.#write(page.map(scheduleLine).join(''));
    return page.length < STEP_SCHEDULES ? null : (page.at(-1)?.no ?? null);
  }

  async #finish(): Promise<number> {
    await this.#handle?.datasync();
    await this.#handle?.close();
    this.#handle = null;
    await putBase(this.#dir, this.#temp, this.#upTo);
    return this.#bytes;
  }

  async #write(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    await this.#handle?.appendFile(bytes);
    this.#sealer.add(bytes);
    this.#bytes += bytes.length;
  }

  async #seal(): Promise<void> {
    const seal = this.#sealer.seal();
    await this.#handle?.appendFile(seal);
    this.#bytes += seal.length;
  }
}
