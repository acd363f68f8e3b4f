/**
 * Callers that wait until a job has ended. Commits of this server wake them at once; another server tells of the ends of
 * those jobs that it heard are waited for. Both are hints: whoever is woken looks, and a poll finds what no hint told of.
 */

import type { Clock } from '../domain/ports.ts';

/** Longer than anybody waits in one call. */
const HEARD_MS = 90_000;
/** More than this are not remembered of other servers' waits: those are left to their polls. */
const REMEMBERED = 10_000;
/** Before the number of a lineage in a wake-up; no target has a space in its name. */
const AWAITED = 'awaited ';
const ENDED = 'ended ';

interface Waiter {
  wake: (() => void) | null;
  /** It may have ended since the last look. */
  woken: boolean;
}

export class EndWatch {
  readonly #clock: Clock;
  /** By the number of the lineage's first job. */
  readonly #waiting = new Map<number, Set<Waiter>>();
  /** What other servers wait for, and until when. */
  readonly #elsewhere = new Map<number, number>();
  #size = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#size;
  }

  /** How many lineages other servers are known to wait for. */
  get remembered(): number {
    return this.#elsewhere.size;
  }

  /** The next so many lineages that are waited for, in rotation. */
  some(count: number): number[] {
    const some = [...this.#waiting.keys()].slice(0, count);
    for (const root of some) {
      const waiters = this.#waiting.get(root) as Set<Waiter>;
      this.#waiting.delete(root);
      this.#waiting.set(root, waiters);
    }
    return some;
  }

  /** Wait before looking, so that nothing that ends in between is missed. */
  enter(root: number): Waiter {
    const waiter: Waiter = { wake: null, woken: false };
    const waiters = this.#waiting.get(root) ?? new Set();
    this.#waiting.set(root, waiters.add(waiter));
    this.#size++;
    return waiter;
  }

  leave(root: number, waiter: Waiter): void {
    const waiters = this.#waiting.get(root);
    if (waiters?.delete(waiter)) this.#size--;
    if (waiters?.size === 0) this.#waiting.delete(root);
  }

  /** Resolves when the end may have come, the time is over, or the caller has gone. */
  wait(waiter: Waiter, waitMs: number, signal?: AbortSignal): Promise<void> {
    if (waiter.woken || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        signal?.removeEventListener('abort', wake);
        waiter.wake = null;
        resolve();
      };
      const cancel = this.#clock.after(waitMs, wake);
      signal?.addEventListener('abort', wake);
      waiter.wake = wake;
    });
  }

  /** Wakes who waits here, and answers which ends other servers are to be told of. */
  ended(roots: readonly number[]): string[] {
    if (this.#size > 0) for (const root of roots) this.wake(root);
    if (this.#elsewhere.size === 0) return [];
    return roots.filter((root) => this.#elsewhere.delete(root)).map((root) => `${ENDED}${root}`);
  }

  wake(root: number): void {
    for (const waiter of this.#waiting.get(root) ?? []) {
      waiter.woken = true;
      waiter.wake?.();
    }
  }

  wakeAll(): void {
    for (const root of this.#waiting.keys()) this.wake(root);
  }

  /** How other servers are told that somebody waits here. */
  static awaited(root: number): string {
    return `${AWAITED}${root}`;
  }

  /** Whether a wake-up was for us. */
  hear(wakeUp: string): boolean {
    if (wakeUp.startsWith(ENDED)) this.wake(Number(wakeUp.slice(ENDED.length)));
    else if (wakeUp.startsWith(AWAITED)) this.#remember(Number(wakeUp.slice(AWAITED.length)));
    else return false;
    return true;
  }

  #remember(root: number): void {
    const now = this.#clock.now();
    if (this.#elsewhere.size >= REMEMBERED)
      for (const [each, until] of this.#elsewhere) if (until <= now) this.#elsewhere.delete(each);
    if (this.#elsewhere.size < REMEMBERED) this.#elsewhere.set(root, now + HEARD_MS);
  }
}
