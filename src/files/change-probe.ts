/** Whether there is anything to write: a look that costs next to nothing, for as long as nobody writes. */

import type { FeedPlace } from '../domain/event.ts';
import type { Reads } from '../store/store.ts';
import type { StartupCheck } from './startup-check.ts';
import { isAfter, placeOf } from './feed-mark.ts';

type ProbeReads = Pick<Reads, 'feed' | 'routing' | 'types' | 'pools' | 'schedules'>;

export class ChangeProbe {
  readonly #read: ProbeReads;
  readonly #written: readonly FeedPlace[];
  readonly #revision: number;

  private constructor(read: ProbeReads, written: readonly FeedPlace[], revision: number) {
    this.#read = read;
    this.#written = written;
    this.#revision = revision;
  }

  /** Null when there is something to write already. Whoever wrote last must have closed in good order. */
  static async since(
    read: ProbeReads,
    { journal, files }: Pick<StartupCheck, 'journal' | 'files'>,
  ): Promise<ChangeProbe | null> {
    const { revision, pauses } = await read.routing.current();
    const isUnwritten = journal === null;
    if (isUnwritten && pauses.length + (await read.types.all()).length > 0) return null;
    const changeProbe = new ChangeProbe(read, [placeOf(journal), placeOf(files)], revision);
    return (await changeProbe.look()) ? null : changeProbe;
  }

  async look(): Promise<boolean> {
    const end = await this.#read.feed.end();
    if (this.#written.some((place) => isAfter(end, place))) return true;
    // Types and pauses raise it.
    if ((await this.#read.routing.current()).revision !== this.#revision) return true;
    // Pools and schedules leave no such trace: where there are some, somebody must keep looking at them.
    const schedules = await this.#read.schedules.stamps({ afterNo: 0, limit: 1 });
    return schedules.length + (await this.#read.pools.all()).length > 0;
  }
}
