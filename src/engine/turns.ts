/** Pieces of work that hold the event loop for a while: one after another, principal by principal, and everybody else in between. */

import type { Actor } from '../domain/command.ts';
import type { Clock } from '../domain/ports.ts';
import { FairQueue, type Piece } from './fair-queue.ts';

/** After so much in a row the event loop looks at what else has come. */
const IN_A_ROW_MS = 5;

interface Waiting extends Piece {
  readonly begin: () => void;
}

export class Turns {
  readonly #clock: Clock;
  readonly #waiting = new FairQueue<Waiting>();
  #free: number;
  /** When the event loop was last left to others. */
  #since = 0;

  /** `atOnce` is one where the work is done by this very thread. */
  constructor(atOnce: number, clock: Clock) {
    this.#free = atOnce;
    this.#clock = clock;
  }

  /** Runs the work when its turn has come; at once when nobody waits. */
  async take<T>(actor: Actor, work: () => T | Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((begin) => this.#waiting.push({ actor, weight: 1, begin }));
    else this.#begin();
    try {
      return await work();
    } finally {
      this.#end();
    }
  }

  #begin(): void {
    this.#free--;
    this.#since = this.#clock.now();
  }

  #end(): void {
    const [next] = this.#waiting.take(1);
    if (next === undefined) this.#free++;
    else if (this.#clock.now() - this.#since < IN_A_ROW_MS) next.begin();
    else setImmediate(() => this.#afterOthers(next));
  }

  #afterOthers(next: Waiting): void {
    this.#since = this.#clock.now();
    next.begin();
  }
}
