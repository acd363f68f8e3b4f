/** How often somebody may be wrong: of one account, and from one address. Kept in memory, by each server for itself. */

import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';

/** More than can be tried in the time they are kept. */
const REMEMBERED = 10_000;

export class LoginLimits {
  readonly #accounts = new Failures(LIMITS.loginFailures);
  readonly #addresses = new Failures(LIMITS.loginFailuresPerAddress);

  /** Counts a try as wrong before it is judged, so that many at once are no way around; answers how to take that back. */
  enter(account: string, address: string, now: number): () => void {
    const waitMs = Math.max(this.#accounts.waitMs(account, now), this.#addresses.waitMs(address, now));
    if (waitMs > 0) {
      const problem = 'Too many requests. Please try again later.';
      throw new SpineError('rate_limited', { problem, retryAfterS: Math.ceil(waitMs / 1_000) });
    }
    this.#accounts.add(account, now);
    this.#addresses.add(address, now);
    return () => {
      this.#accounts.takeBack(account, now);
      this.#addresses.takeBack(address, now);
    };
  }
}

class Failures {
  readonly #most: number;
  readonly #at = new Map<string, number[]>();

  constructor(most: number) {
    this.#most = most;
  }

  /** How long until the next may be tried; 0 is now. */
  waitMs(who: string, now: number): number {
    const lately = (this.#at.get(who) ?? []).filter((at) => at > now - LIMITS.loginWindowMs);
    if (lately.length < this.#most) return 0;
    return (lately.at(-this.#most) ?? now) + LIMITS.loginWindowMs - now;
  }

  add(who: string, now: number): void {
    const lately = (this.#at.get(who) ?? []).filter((at) => at > now - LIMITS.loginWindowMs);
    // Whoever failed last stands last.
    this.#at.delete(who);
    this.#at.set(who, [...lately, now]);
    for (const [other] of this.#at) {
      if (this.#at.size <= REMEMBERED) return;
      this.#at.delete(other);
    }
  }

  takeBack(who: string, at: number): void {
    const left = this.#at.get(who) ?? [];
    const index = left.indexOf(at);
    if (index >= 0) left.splice(index, 1);
    if (left.length === 0) this.#at.delete(who);
  }
}
