/** Does what was asked for all jobs that fit a filter, step by step, and rests in between. */

import { bulkStep } from '../engine/bulk-steps.ts';
import type { Core } from '../engine/core.ts';
import type { Duty } from './loop.ts';

/** Another server may have taken the call, and ended since. */
const POLL_MS = 5_000;
/** It rests twice as long as a step took, within these: on a busy server others come first. */
const REST_MS = { least: 5, most: 25 };

export function bulk(core: Core): Duty {
  return {
    name: 'bulk',
    everyMs: POLL_MS,
    runOnce: async () => {
      const startedAt = core.now();
      const { done, more } = await bulkStep(core);
      const restMs = Math.min(REST_MS.most, Math.max(REST_MS.least, 2 * (core.now() - startedAt)));
      return { done, more: false, nextInMs: more ? restMs : null };
    },
  };
}
