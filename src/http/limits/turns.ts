/** Pieces of work that hold the event loop for a while: one after another, principal by principal, and everybody else in between. */

import type { Actor } from '../../domain/command.ts';
import { FairQueue, type Piece } from '../../engine/fair-queue.ts';

interface Waiting extends Piece {
  readonly begin: () => void;
}

export class Turns {
  readonly #waiting = new FairQueue<Waiting>();
  #free: number;

  /** `atOnce` is one where the work is done by this very thread. */
  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Runs the work when its turn has come; at once when nobody waits. */
  async take<T>(actor: Actor, work: () => T | Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((begin) => this.#waiting.push({ actor, weight: 1, begin }));
    else this.#free--;
    try {
      return await work();
    } finally {
      // What came in meanwhile is looked at first.
      setImmediate(() => this.#next());
    }
  }

  #next(): void {
    const [next] = this.#waiting.take(1);
    if (next === undefined) this.#free++;
    else next.begin();
  }
}
