/** How long a job has waited and run, from what its row says. */

import { isFinal, type Job } from './job.ts';

/** How long it stood ready before the attempt that runs now, or ran to the end. */
export function queuedMs({ startedAt, queuedAt, createdAt }: Job): number | null {
  return startedAt === null ? null : Math.max(0, startedAt - (queuedAt ?? createdAt));
}

/** How long the attempt took that ran to the end. */
export function runMs({ state, startedAt, finishedAt }: Job): number | null {
  return startedAt === null || finishedAt === null || !isFinal(state)
    ? null
    : Math.max(0, finishedAt - startedAt);
}
