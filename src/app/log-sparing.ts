/** Things that may come by the thousand are told now and then: the first of a kind, and later how many more there were. */

import type { Clock } from '../domain/ports.ts';
import type { Facts } from './log-lines.ts';

const EVERY_MS = 10_000;
/** Kinds are our own words, and few; this holds should one ever be a caller's. */
const KINDS = 1_000;

type Say = (level: 'warn' | 'info', message: string, facts: Facts) => void;

interface Kind {
  leftOut: number;
  last: { readonly level: 'warn' | 'info'; readonly message: string; readonly facts: Facts };
  readonly cancel: () => void;
}

export class Sparing {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #say: Say;
  readonly #kinds = new Map<string, Kind>();

  constructor(clock: Pick<Clock, 'after'>, say: Say) {
    this.#clock = clock;
    this.#say = say;
  }

  say(kind: string, level: 'warn' | 'info', message: string, facts: Facts): void {
    const known = this.#kinds.get(kind);
    if (known !== undefined) {
      known.leftOut += 1;
      known.last = { level, message, facts };
      return;
    }
    if (this.#kinds.size >= KINDS) return;
    this.#say(level, message, facts);
    const cancel = this.#clock.after(EVERY_MS, () => this.#tell(kind));
    this.#kinds.set(kind, { leftOut: 0, last: { level, message, facts }, cancel });
  }

  end(): void {
    for (const [kind, { cancel }] of this.#kinds) {
      cancel();
      this.#tell(kind);
    }
  }

  /** The last of those that were left out stands for all of them. */
  #tell(kind: string): void {
    const { leftOut, last } = this.#kinds.get(kind) as Kind;
    this.#kinds.delete(kind);
    if (leftOut > 0) this.#say(last.level, last.message, { ...last.facts, more: leftOut - 1 });
  }
}
