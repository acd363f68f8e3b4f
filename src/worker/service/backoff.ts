/** How long a worker waits after trouble: the text's own steps, with a random part so that workers do not come together. */

import type { Platform } from '../../client/platform.ts';

const LONGEST = 10;
const JITTER_SHARE = 1 / 6;

/** 30 s, 1, 2, 4, 5 minutes, and 0 to 5 seconds more; all of it scales with the first. */
export function pollWaitMs(platform: Pick<Platform, 'random'>, pollMs: number, failures: number): number {
  const steps = Math.min(2 ** Math.min(failures, 10), LONGEST);
  return pollMs * steps + jitterMs(platform, pollMs);
}

/** Workers that are started together first ask at different moments. */
export function jitterMs({ random }: Pick<Platform, 'random'>, pollMs: number): number {
  return random() * pollMs * JITTER_SHARE;
}

/** 1, 2, 4 seconds. */
export function endWaitMs(failures: number): number {
  return 1_000 * 2 ** Math.min(failures, 2);
}
