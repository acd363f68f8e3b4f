/** The budget of a type: what its jobs may take in a day, and what became of it today. */

import { loopActor } from './actor.ts';
import type { Usage } from './usage.ts';

/** Pauses what has used up its budget, until the next day. */
export const BUDGETS = loopActor('budgets');

export interface Budget {
  readonly typeNo: number;
  /** Null: not bounded. */
  readonly tokens: number | null;
  readonly costMicros: number | null;
  /** The beginning of the day on which it was used up last. Null once its type goes on. */
  readonly usedUpOn: number | null;
  /** How often it was raised by itself, and on which day. */
  readonly raised: number;
  readonly raisedOn: number | null;
  /** Somebody wants its type to stay paused, tomorrow too. */
  readonly held: boolean;
}

/** What of it is used up today; null while nothing is. */
export function usedUp(budget: Budget, used: Usage, dayAt: number): 'tokens' | 'cost' | null {
  const times = 1 + (budget.raisedOn === dayAt ? budget.raised : 0);
  if (budget.tokens !== null && used.totalTokens >= budget.tokens * times) return 'tokens';
  return budget.costMicros !== null && used.costMicros >= budget.costMicros * times ? 'cost' : null;
}

/** Dollars as people read them. */
export function dollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(2)}`;
}
