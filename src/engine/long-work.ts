/** Pieces of work that hold the event loop for a while: one after another, principal by principal, and everybody else in between. */

import type { Actor } from '../domain/command.ts';
import type { Clock } from '../domain/ports.ts';
import { FairQueue, type Piece } from './fair-queue.ts';

/** After so much in one round of the event loop, the next piece waits. */
const IN_A_ROUND_MS = 5;
/** So many rounds belong to others then. Node takes in one new connection a round, and the call on it needs two more. */
const ROUNDS_BETWEEN = 10;

interface Waiting extends Piece {
  readonly begin: () => void;
}

export class LongWork {
  readonly #clock: Clock;
  readonly #waiting = new FairQueue<Waiting>();
  #free: number;
  /** When the first piece of this round began; null when none has. */
  #roundBegan: number | null = null;

  /** `atOnce` is one where the work is done by this very thread. */
  constructor(atOnce: number, clock: Clock) {
    this.#free = atOnce;
    this.#clock = clock;
  }

  /** Runs the work when it is first in line; at once when nobody waits and this round has time left. */
  async run<T>(actor: Actor, work: () => T | Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((begin) => this.#waiting.push({ actor, weight: 1, begin }));
    else this.#free--;
    this.#beginRound();
    try {
      return await work();
    } finally {
      this.#end();
    }
  }

  /**
   * Work that never waits for anything ends before the next request is even looked at, and hundreds of them are looked
   * at in one round: nobody would ever wait here, but everybody for the round. So its time is counted as a whole.
   */
  #beginRound(): void {
    if (this.#roundBegan !== null) return;
    this.#roundBegan = this.#clock.now();
    setImmediate(() => {
      this.#roundBegan = null;
    });
  }

  #end(): void {
    const usedUp = this.#roundBegan !== null && this.#clock.now() - this.#roundBegan >= IN_A_ROUND_MS;
    if (usedUp) afterRounds(ROUNDS_BETWEEN, () => this.#next());
    else this.#next();
  }

  #next(): void {
    const [next] = this.#waiting.take(1);
    if (next === undefined) this.#free++;
    else next.begin();
  }
}

function afterRounds(rounds: number, task: () => void): void {
  setImmediate(() => (rounds === 1 ? task() : afterRounds(rounds - 1, task)));
}
