/**
 * Who calls with a token that has to be looked up. Tokens that counted before are looked up apart; of all others a few
 * at a time, so that whoever invents tokens keeps neither those callers nor anybody's reads waiting.
 */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Reads, Store } from '../store/store.ts';

/** More runs than one server has agents calling for. */
const REMEMBERED = 10_000;
/** Strangers that are looked up at once: a look takes a row by its key. */
const AT_ONCE = 2;

type LookUp = (read: Reads) => Promise<Actor | null>;

export class Strangers {
  readonly #store: Pick<Store, 'read' | 'readCallers'>;
  /** Hashes of tokens that counted when they were last looked up. */
  readonly #known = new Set<string>();
  readonly #line: (() => void)[] = [];
  #lookedUp = 0;

  constructor(store: Pick<Store, 'read' | 'readCallers'>) {
    this.#store = store;
  }

  async lookUp(hash: string, lookUp: LookUp): Promise<Actor | null> {
    const actor = this.#known.has(hash)
      ? await lookUp(this.#store.readCallers)
      : await this.#inLine(() => lookUp(this.#store.read));
    this.#remember(hash, actor !== null);
    return actor;
  }

  async #inLine<T>(look: () => Promise<T>): Promise<T> {
    if (this.#lookedUp < AT_ONCE) this.#lookedUp++;
    else if (this.#line.length >= LIMITS.waitingStrangers)
      throw new SpineError('overloaded', { retryAfterS: 1 });
    else await new Promise<void>((resolve) => this.#line.push(resolve));
    try {
      return await look();
    } finally {
      // Whoever is next takes over the place.
      const next = this.#line.shift();
      if (next === undefined) this.#lookedUp--;
      else next();
    }
  }

  #remember(hash: string, counts: boolean): void {
    if (counts === this.#known.has(hash)) return;
    this.#known.delete(hash);
    if (!counts) return;
    this.#known.add(hash);
    if (this.#known.size <= REMEMBERED) return;
    for (const oldest of this.#known) {
      this.#known.delete(oldest);
      return;
    }
  }
}
