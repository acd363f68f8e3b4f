/** The other side may never answer. Whoever waits for it gives up after a while without a sign of life. */

import { BackupProblem } from './problem.ts';

export class Patience {
  readonly #after: (delayMs: number, task: () => void) => () => void;
  readonly #limitMs: number;
  readonly #place: string;

  constructor(place: string, limitMs: number, after: (delayMs: number, task: () => void) => () => void) {
    this.#place = place;
    this.#limitMs = limitMs;
    this.#after = after;
  }

  /** The work is left to itself when it fails to end or to call `alive` in time. */
  async with<T>(work: (alive: () => void) => Promise<T>): Promise<T> {
    const { promise: tired, reject } = Promise.withResolvers<never>();
    let cancel = (): void => undefined;
    const alive = (): void => {
      cancel();
      cancel = this.#after(this.#limitMs, () => reject(this.#silence()));
    };
    alive();
    try {
      return await Promise.race([work(alive), tired]);
    } finally {
      cancel();
    }
  }

  async *each<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
    const iterator = items[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.with(() => iterator.next());
      if (next.done === true) return;
      yield next.value;
    }
  }

  #silence(): BackupProblem {
    const seconds = (this.#limitMs / 1_000).toLocaleString('en');
    return new BackupProblem('timeout', `${this.#place} did not answer within ${seconds} seconds.`);
  }
}
