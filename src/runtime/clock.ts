/** The machine's clock. For lengths and timers, wall time is read once and the monotonic clock counts from then on. */

import { uptime } from 'node:os';
import type { Clock, TimeSource } from '../domain/ports.ts';

/** How often to look whether the machine slept. */
const LOOK_EVERY_MS = 1_000;
/** The uptime is coarse; less than this may be rounding. */
const SLEEP_MIN_MS = 2_500;

/** Both clocks as they are, for the engine's time, which follows the wall clock. */
export const systemTime: TimeSource = { wallMs: () => Date.now(), monoMs: () => performance.now() };

export function systemClock(): Clock {
  const startedAt = Date.now() - performance.now();
  const sleptMs = sleepMeter();
  return {
    now: () => {
      const monoMs = performance.now();
      return Math.floor(startedAt + monoMs + sleptMs(monoMs));
    },
    after: (delayMs, task) => {
      // Longer delays would overflow Node's timer and fire at once; every caller looks again when it wakes.
      const timer = setTimeout(task, Math.min(Math.max(0, delayMs), 2 ** 31 - 1));
      return () => clearTimeout(timer);
    },
  };
}

/** The monotonic clock stands still while the machine sleeps, the uptime does not: the difference is the sleep. */
function sleepMeter(): (monoMs: number) => number {
  const aheadAtStart = uptime() * 1000 - performance.now();
  let lookedAt = performance.now();
  let sleptMs = 0;
  return (monoMs) => {
    if (monoMs - lookedAt > LOOK_EVERY_MS) {
      lookedAt = monoMs;
      const aheadMs = uptime() * 1000 - lookedAt - aheadAtStart;
      if (aheadMs - sleptMs > SLEEP_MIN_MS) sleptMs = aheadMs;
    }
    return sleptMs;
  };
}
