import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../src/domain/ports.ts';

/** A clock that a test moves. */
export interface TestClock extends Clock {
  /** Moves time on. Timers run in the order in which they are due, each at its own moment. */
  advance(ms: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly task: () => void;
}

/** Rounds of the event loop that let work started by a timer come to rest when nothing waits for real I/O. */
const ROUNDS = 12;

export class FakeClock implements TestClock {
  #now: number;
  #made = 0;
  readonly #timers = new Set<Timer>();

  constructor(startsAt = 1_700_000_000_000) {
    this.#now = startsAt;
  }

  now(): number {
    return this.#now;
  }

  after(delayMs: number, task: () => void): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, delayMs), order: this.#made++, task };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** How many timers have been set and neither run nor called off. */
  get pending(): number {
    return this.#timers.size;
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    // What is under way may set timers that are due within this time.
    await rest();
    for (let next = this.#nextUntil(until); next !== null; next = this.#nextUntil(until)) {
      this.#now = next.at;
      this.#timers.delete(next);
      next.task();
      await rest();
    }
    this.#now = until;
    await rest();
  }

  #nextUntil(until: number): Timer | null {
    let best: Timer | null = null;
    for (const timer of this.#timers) {
      if (timer.at > until) continue;
      if (best === null || timer.at < best.at || (timer.at === best.at && timer.order < best.order))
        best = timer;
    }
    return best;
  }
}

/** Lets everything that is ready to run do so. */
export async function rest(rounds = ROUNDS): Promise<void> {
  for (let round = 0; round < rounds; round++) await nextRound();
}

/** Far above what any condition here takes, and below the limit of a test: one that never gets there says what it waits for. */
const UNTIL_LIMIT_MS = 50_000;

/** What takes more rounds than this waits for another process or a socket, and would wait longer beside a busy loop. */
const BUSY_ROUNDS = 200;

/** Looks round by round of the event loop until something is there, or is so: an event is waited for, never a time. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
): Promise<Exclude<T, null | undefined | false>> {
  const startedAt = performance.now();
  for (let round = 0; ; round++) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false)
      return seen as Exclude<T, null | undefined | false>;
    if (performance.now() - startedAt > UNTIL_LIMIT_MS) throw new Error(`waited in vain until ${what}`);
    await (round < BUSY_ROUNDS ? nextRound() : sleep(2));
  }
}

function nextRound(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
