/** Takes back jobs whose holder was not heard from. */

import { SYSTEM } from '../domain/actor.ts';
import type { Actor } from '../domain/command.ts';
import type { Core } from '../engine/core.ts';
import type { Duty, Pass } from './loop.ts';

const REAPER: Actor = { ...SYSTEM, name: 'reaper' };

const BATCH = 500;
const ALIVE = 'server';
/** How often servers say that they are alive; a longer silence means that none could take heartbeats. */
const BEAT_MS = 1_000;
const GAP_MS = 5_000;
const PULSE_SOON_MS = 50;

/**
 * A lease that ran out while no server could be reached is not the worker's fault. After such a gap nothing is
 * reaped for as long as the gap lasted, one lease at most, so that holders can be heard again first.
 */
export class Reaper implements Duty {
  readonly name = 'reaper';
  readonly everyMs: number;
  readonly #core: Core;
  #reapAfter = 0;
  #pulseAt = -Infinity;

  constructor(core: Core, everyMs: number) {
    this.#core = core;
    this.everyMs = everyMs;
  }

  async runOnce(): Promise<Pass> {
    const now = this.#core.now();
    // Until the pulse has looked, nobody knows how long no server could be reached.
    if (now - this.#pulseAt > GAP_MS) return { done: 0, more: false, nextInMs: PULSE_SOON_MS };
    if (now < this.#reapAfter) return { done: 0, more: false, nextInMs: this.#reapAfter - now };
    const expired = await this.#core.store.read.expiredLeases(now, BATCH);
    await Promise.all(expired.map((id) => this.#core.perform({ kind: 'expire', id, actor: REAPER })));
    return { done: expired.length, more: expired.length === BATCH };
  }

  /** Says that this server is alive, and notices when nobody was for a while. */
  pulse(): Duty {
    return {
      name: 'pulse',
      everyMs: BEAT_MS,
      runOnce: async () => {
        const now = this.#core.now();
        const lastBeat = await this.#core.flusher.transact(SYSTEM, async (tx) => tx.beat(ALIVE, now));
        const gapMs = lastBeat === null ? 0 : now - lastBeat;
        this.#pulseAt = now;
        if (gapMs > GAP_MS) this.#reapAfter = now + Math.min(gapMs, this.#core.settings.leaseMs);
        return { done: 1, more: false };
      },
    };
  }
}
