/** Who is next: the higher priority, then the older job. */

import { LIMITS } from './limits.ts';

/** A raised priority is above all that can be asked for, so that no index has to know that some jobs stand in front. */
export const FRONT = 2 * LIMITS.priority + 1;

/** Before all that have not been raised; those that have keep their order. */
export function raised(priority: number): number {
  return ownPriority(priority) + FRONT;
}

/** As it was asked for, raised or not. */
export function ownPriority(priority: number): number {
  return priority > LIMITS.priority ? priority - FRONT : priority;
}
