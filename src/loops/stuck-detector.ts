/** Finds work under the `presence` rule whose workers are gone, and fails it. */

import { loopActor } from '../domain/actor.ts';
import { endAbandoned } from '../engine/abandoned-leases.ts';
import type { Core } from '../engine/core.ts';
import { keepHeard } from '../engine/keep-heard.ts';
import type { Duty, Pass } from './loop.ts';

const DETECTOR = loopActor('stuck-detector');

/** A pass that comes later than this many of its intervals after the last one tells that nobody could be heard meanwhile. */
const GAP_SCANS = 2;

export interface StuckDetectorOptions {
  readonly core: Core;
  readonly everyMs: number;
  /** For how long nobody is judged, because no server was there to hear anybody. */
  readonly absenceMs: (now: number) => number;
}

/**
 * After a time in which this server could not hear anybody, workers have as long to be heard as it lasted, within bounds:
 * one pass at least, and half of what they may be silent at most.
 */
export class StuckDetector implements Duty {
  readonly name = 'stuck-detector';
  readonly everyMs: number;
  readonly #options: StuckDetectorOptions;
  #lastAt: number | null = null;
  #graceUntil = 0;

  constructor(options: StuckDetectorOptions) {
    this.#options = options;
    this.everyMs = options.everyMs;
  }

  async runOnce(): Promise<Pass> {
    const { core, absenceMs } = this.#options;
    // What this server has heard comes first; when it cannot be written down nobody is judged.
    await keepHeard(core, DETECTOR);
    const now = core.now();
    this.#noticeGap(now);
    this.#lastAt = now;
    const waitMs = Math.max(absenceMs(now), this.#graceUntil - now);
    if (waitMs > 0) return { done: 0, more: false, nextInMs: waitMs };
    return endAbandoned(core, DETECTOR);
  }

  #noticeGap(now: number): void {
    const gapMs = this.#lastAt === null ? 0 : now - this.#lastAt;
    if (this.#lastAt !== null && gapMs <= GAP_SCANS * this.everyMs) return;
    const longestMs = Math.max(this.everyMs, this.#options.core.stuck.offlineMs / 2);
    this.#graceUntil = now + Math.min(Math.max(gapMs, this.everyMs), longestMs);
  }
}
