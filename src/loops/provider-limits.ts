/** Hands out a provider's work again once its limit is over. */

import type { Core } from '../engine/core.ts';
import { liftPauses } from '../engine/provider-limits.ts';
import type { Duty } from './loop.ts';

const POLL_MS = 5_000;

export function providerLimits(core: Core): Duty {
  return {
    name: 'provider-limits',
    everyMs: POLL_MS,
    runOnce: async () => {
      const { lifted, nextAt } = await liftPauses(core);
      return { done: lifted, more: false, nextInMs: nextAt === null ? null : nextAt - core.now() };
    },
  };
}
