/** Looks whether the types' budgets are used up, soon after something was spent. */

import type { Core } from '../engine/core.ts';
import { watchBudgets } from '../engine/spending.ts';
import type { Duty } from './loop.ts';

/** A server on the same database may have spent it, and a day begins without a hint. */
const POLL_MS = 5_000;

export function budgets(core: Core): Duty {
  return {
    name: 'budgets',
    everyMs: POLL_MS,
    runOnce: async () => ({ done: await watchBudgets(core), more: false }),
  };
}
