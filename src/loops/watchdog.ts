/** Finds workers that fell silent: marks them offline, gives back what they held, and tells whoever wants to know. */

import { loopActor } from '../domain/actor.ts';
import { LIMITS } from '../domain/limits.ts';
import type { WorkerSlot } from '../domain/worker-slot.ts';
import type { Core } from '../engine/core.ts';
import { isHeld, judgeSilent } from '../engine/silent-workers.ts';
import type { Duty, Pass } from './loop.ts';

const WATCHDOG = loopActor('watchdog');

/** All there are: those whose leases live, however many, must not hide the others. */
const BATCH = LIMITS.workerSlots;

/**
 * Ends the session of a silent worker where this installation can: one of its own, or a turn at its gateway. A program of
 * the worker's has ended with it; what only the worker could reach is left to the next one of its slot. Settles in bounded
 * time, whatever became of the session.
 */
export type EndSession = (slot: WorkerSlot) => Promise<void>;

export interface WatchdogOptions {
  readonly core: Core;
  readonly everyMs: number;
  /** For how long nobody is judged, because no server was there to hear anybody. */
  readonly absenceMs: (now: number) => number;
  readonly endSession: EndSession;
  readonly onStale: (slot: WorkerSlot) => void;
}

export class Watchdog implements Duty {
  readonly name = 'watchdog';
  readonly everyMs: number;
  readonly #options: WatchdogOptions;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.everyMs = options.everyMs;
  }

  async runOnce(): Promise<Pass> {
    const { core, absenceMs, endSession } = this.#options;
    const now = core.now();
    const waitMs = absenceMs(now);
    if (waitMs > 0) return { done: 0, more: false, nextInMs: waitMs };
    const silent = await core.store.read.workers.silentSince(now - core.workers.staleMs, BATCH);
    const lost: WorkerSlot[] = [];
    for (const slot of silent) if (!(await isHeld(core.store.read, slot, now))) lost.push(slot);
    // Their sessions first: nobody else may begin while these still work.
    await Promise.all(lost.filter(({ sessionId }) => sessionId !== null).map(endSession));
    let done = 0;
    for (const { slot } of lost) if (await this.#judge(slot)) done += 1;
    return { done, more: done > 0 && silent.length === BATCH };
  }

  async #judge(name: string): Promise<boolean> {
    const { core, onStale } = this.#options;
    const found = await judgeSilent(core, WATCHDOG, name);
    if (found === null) return false;
    onStale(found);
    core.hints.beaten();
    return true;
  }
}
