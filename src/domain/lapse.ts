/** A job may be wanted soon or not at all: then it ends when nobody took it in time. */

import { isFinal, type Job } from './job.ts';
import { finish } from './retry.ts';
import type { EventDraft } from './event.ts';

/** Of one that nobody took in time. */
export const LAPSED = 'expired';

/** Whoever has taken it once took it in time, however often it is done again. */
export function hasLapsed({ state, startBefore, fence }: Job, now: number): boolean {
  return startBefore !== null && startBefore <= now && fence === 0 && !isFinal(state);
}

/** The row after its end, and what is told of it. */
export function lapse(
  job: Job,
  by: string,
  now: number,
): { readonly job: Job; readonly events: EventDraft[] } {
  const next = { ...job, reason: LAPSED };
  finish(next, 'skipped', now);
  return {
    job: next,
    events: [{ kind: 'job.skipped', by, facts: { reason: LAPSED, startBefore: job.startBefore } }],
  };
}
