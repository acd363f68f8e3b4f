/** Claimers that wait for work. A wake-up is a hint to look again; whoever waited longest looks first. */

import type { Clock } from '../domain/ports.ts';

interface Ticket {
  readonly targets: readonly string[];
  /** Which types it takes. Those who take the same stand in one line: a hint goes to the first of every line. */
  readonly line: string;
  /** Work may have come since the last look. */
  woken: boolean;
  wake: (() => void) | null;
}

export class Waiters {
  readonly #clock: Clock;
  readonly #byTarget = new Map<string, Map<string, Set<Ticket>>>();
  #size = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#size;
  }

  /** Stand in line before looking for work, so that nothing that comes in between is missed. */
  enter(targets: readonly string[], types?: readonly string[]): Ticket {
    const line = types === undefined ? '' : JSON.stringify(types.toSorted());
    const ticket: Ticket = { targets, line, woken: false, wake: null };
    this.#size++;
    for (const target of targets) {
      const lines = this.#byTarget.get(target) ?? new Map<string, Set<Ticket>>();
      const waiting = lines.get(line) ?? new Set();
      this.#byTarget.set(target, lines.set(line, waiting.add(ticket)));
    }
    return ticket;
  }

  /** Leave the line. A hint that was not needed goes to the next in line. */
  leave(ticket: Ticket, unusedHint: boolean): void {
    this.#size--;
    for (const target of ticket.targets) {
      const lines = this.#byTarget.get(target);
      const waiting = lines?.get(ticket.line);
      waiting?.delete(ticket);
      if (waiting?.size === 0) lines?.delete(ticket.line);
      if (lines?.size === 0) this.#byTarget.delete(target);
    }
    if (unusedHint) for (const target of ticket.targets) this.wake(target, 1);
  }

  /** Resolves when work may have come, the time is over, or the caller has gone. */
  wait(ticket: Ticket, waitMs: number, signal?: AbortSignal): Promise<void> {
    if (ticket.woken || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        signal?.removeEventListener('abort', done);
        ticket.wake = null;
        resolve();
      };
      const cancel = this.#clock.after(waitMs, done);
      signal?.addEventListener('abort', done);
      ticket.wake = done;
    });
  }

  wake(target: string, count: number): void {
    for (const waiting of this.#byTarget.get(target)?.values() ?? []) wakeFirst(waiting, count);
  }

  /** Polling is the truth: one claimer of each target looks again. */
  wakeOneOfEach(): void {
    for (const target of this.#byTarget.keys()) this.wake(target, 1);
  }

  wakeAll(): void {
    for (const target of this.#byTarget.keys()) this.wake(target, Infinity);
  }
}

function wakeFirst(waiting: ReadonlySet<Ticket>, count: number): void {
  let left = count;
  for (const ticket of waiting) {
    if (left === 0) return;
    if (ticket.woken) continue;
    left--;
    ticket.woken = true;
    ticket.wake?.();
  }
}
