/** Whether there is anything to write: a look that costs next to nothing, for as long as nobody writes. */

import type { FeedPlace, Reads } from '../store/store.ts';
import type { Outset } from './outset.ts';
import { isAfter, placeOf } from './place.ts';

type NewsReads = Pick<Reads, 'feedEnd' | 'routing' | 'types' | 'pools' | 'scheduleStamps'>;

export class News {
  readonly #read: NewsReads;
  readonly #written: readonly FeedPlace[];
  readonly #revision: number;

  private constructor(read: NewsReads, written: readonly FeedPlace[], revision: number) {
    this.#read = read;
    this.#written = written;
    this.#revision = revision;
  }

  /** Null when there is something to write already. Whoever wrote last must have closed in good order. */
  static async since(
    read: NewsReads,
    { journal, files }: Pick<Outset, 'journal' | 'files'>,
  ): Promise<News | null> {
    const { revision, pauses } = await read.routing();
    const isUnwritten = journal === null;
    if (isUnwritten && pauses.length + (await read.types()).length > 0) return null;
    const news = new News(read, [placeOf(journal), placeOf(files)], revision);
    return (await news.look()) ? null : news;
  }

  async look(): Promise<boolean> {
    const end = await this.#read.feedEnd();
    if (this.#written.some((place) => isAfter(end, place))) return true;
    // Types and pauses raise it.
    if ((await this.#read.routing()).revision !== this.#revision) return true;
    // Pools and schedules leave no such trace: where there are some, somebody must keep looking at them.
    const schedules = await this.#read.scheduleStamps({ afterNo: 0, limit: 1 });
    return schedules.length + (await this.#read.pools()).length > 0;
  }
}
