/** Reads the feed once and encodes it once, however many streams are at the same place. */

import { SYSTEM } from '../../domain/actor.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Engine } from '../../engine/engine.ts';
import { LongWork } from '../../engine/long-work.ts';
import { type Burst, BURST_BYTES, inBursts } from './burst.ts';
import { type FeedPlace, isAfter } from './feed-place.ts';

/** However small the events are. */
const MAX_PAGE = 200;
/** What was read last is kept for whoever comes to the same place soon. Each search goes through all of it. */
const KEPT_BURSTS = 64;

export class Bursts {
  readonly #feed: Engine['jobs']['feed'];
  /** In the order in which they were read. */
  readonly #kept: Burst[] = [];
  /** Hundreds of streams far behind would keep the event loop to themselves; they are served in the order of asking. */
  readonly #longWork: LongWork;

  constructor(feed: Engine['jobs']['feed'], clock: Clock) {
    this.#feed = feed;
    this.#longWork = new LongWork(1, clock);
  }

  /**
   * Hands on what follows a place: about a burst, if the events there are as large as the last ones. Answers whether
   * there may be more. One read at a time: hundreds of streams that ask at once for old events would otherwise hold a
   * page each, and most of them want what the one before them has just read.
   */
  next(place: FeedPlace, eventBytes: number, take: (burst: Burst) => void): Promise<boolean> {
    const limit = Math.ceil(Math.min(MAX_PAGE, BURST_BYTES / eventBytes));
    return this.#longWork.run(SYSTEM, () => this.#takeKept(place, take) || this.#read(place, limit, take));
  }

  #takeKept(place: FeedPlace, take: (burst: Burst) => void): boolean {
    const burst = this.#kept.findLast(({ after, last }) => isAfter(last, place) && !isAfter(after, place));
    if (burst !== undefined) take(burst);
    return burst !== undefined;
  }

  async #read(place: FeedPlace, limit: number, take: (burst: Burst) => void): Promise<boolean> {
    const page = await this.#feed(place, limit);
    const bursts = inBursts(place, page);
    if (bursts[0] !== undefined) take(bursts[0]);
    this.#kept.push(...bursts);
    for (const burst of this.#kept.splice(0, Math.max(0, this.#kept.length - KEPT_BURSTS))) burst.release();
    return page.length === limit || bursts.length > 1;
  }
}
