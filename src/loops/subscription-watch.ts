/** Subscriptions that another server changed count here too. */

import type { Core } from '../engine/core.ts';
import type { Duty } from './loop.ts';

export function subscriptionWatch(core: Core): Duty {
  let seen: number | null = null;
  return {
    name: 'subscriptions',
    everyMs: 1_000,
    runOnce: async () => {
      const revision = await core.store.read.subscriptions.revision();
      if (revision !== seen) core.forgetSubscriptions();
      seen = revision;
      return { done: 0, more: false };
    },
  };
}
