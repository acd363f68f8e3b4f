/** Lets jobs rise that have waited, where the scoring of their type says so. */

import type { Core } from '../engine/core.ts';
import { rescore } from '../engine/rescoring.ts';
import type { Duty } from './loop.ts';

/** Points come by the hour: nobody sees some seconds. */
const POLL_MS = 10_000;

export function scorer(core: Core): Duty {
  return { name: 'scorer', everyMs: POLL_MS, runOnce: () => rescore(core) };
}
