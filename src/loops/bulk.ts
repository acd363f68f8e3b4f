/** Does what was asked for all jobs that fit a filter, step by step, and rests in between. */

import { bulkStep } from '../engine/bulk-steps.ts';
import type { Core } from '../engine/core.ts';
import type { Duty } from './loop.ts';

/** Another server may have taken the call, and ended since. */
const POLL_MS = 5_000;
/** After each step, so that it takes half of the time at most. */
const REST_MS = 5;

export function bulk(core: Core): Duty {
  return {
    name: 'bulk',
    everyMs: POLL_MS,
    runOnce: async () => {
      const { done, more } = await bulkStep(core);
      return { done, more: false, nextInMs: more ? REST_MS : null };
    },
  };
}
