/** Claimers that wait for work. A wake-up is a hint to look again; whoever waited longest looks first. */

import type { ClaimNext, ClaimNextAnswer } from '../domain/command.ts';
import type { Clock } from '../domain/ports.ts';
import type { ClaimNextOptions } from './engine.ts';

/** A waiting claim that a flush decides along with the jobs it makes. */
export interface HandedOver {
  readonly claim: ClaimNext;
  /** Null when nothing came of it: the claimer looks for itself. */
  readonly done: (answer: ClaimNextAnswer | null) => void;
}

interface Ticket {
  readonly targets: readonly string[];
  /** Which jobs it takes. Those who take the same stand in one line: a hint goes to the first of every line. */
  readonly line: string;
  /** Work may have come since the last look. */
  woken: boolean;
  wake: (() => void) | null;
  /** Set while it waits: ends the wait, and hands its claim over. */
  handOver: (() => HandedOver) | null;
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
  enter({
    targets,
    types,
    capabilities,
  }: Pick<ClaimNextOptions, 'targets' | 'types' | 'capabilities'>): Ticket {
    const line = JSON.stringify([types?.toSorted(), capabilities?.toSorted()]);
    const ticket: Ticket = { targets, line, woken: false, wake: null, handOver: null };
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

  /**
   * Resolves with null when work may have come, the time is over, or the caller has gone; with the answer to the
   * claim when a flush has taken it over.
   */
  wait(
    ticket: Ticket,
    waitMs: number,
    signal?: AbortSignal,
    claim?: ClaimNext,
  ): Promise<ClaimNextAnswer | null> {
    if (ticket.woken || signal?.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      const stop = (): void => {
        cancel();
        signal?.removeEventListener('abort', lookAgain);
        ticket.wake = null;
        ticket.handOver = null;
      };
      const lookAgain = (): void => {
        stop();
        resolve(null);
      };
      const cancel = this.#clock.after(waitMs, lookAgain);
      signal?.addEventListener('abort', lookAgain);
      ticket.wake = lookAgain;
      if (claim !== undefined)
        ticket.handOver = () => {
          stop();
          return { claim, done: resolve };
        };
    });
  }

  /** Takes over the claims of those who would be woken by so many jobs. */
  handOver(target: string, count: number): HandedOver[] {
    const lines = [...(this.#byTarget.get(target)?.values() ?? [])];
    return lines.flatMap((waiting) => {
      const claims = [...waiting].filter((ticket) => ticket.handOver !== null);
      return claims.slice(0, count).flatMap((ticket) => ticket.handOver?.() ?? []);
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
