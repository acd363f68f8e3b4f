/** The machine's clock. Wall time is read once; from then on the monotonic clock counts, so that a jump of the wall clock moves no lease. */

import type { Clock } from '../domain/ports.ts';

export function systemClock(): Clock {
  const startedAt = Date.now() - performance.now();
  return {
    now: () => Math.floor(startedAt + performance.now()),
    after: (delayMs, task) => {
      // Longer delays would overflow Node's timer and fire at once; every caller looks again when it wakes.
      const timer = setTimeout(task, Math.min(Math.max(0, delayMs), 2 ** 31 - 1));
      return () => clearTimeout(timer);
    },
  };
}
