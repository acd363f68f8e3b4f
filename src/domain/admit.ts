/**
 * What a job waits for, if anything. Whatever makes a job, opens it again or lets it further in asks only this; those that
 * come back from an attempt or from a full pool were let in before.
 */

import type { EventKind } from './event.ts';
import type { Job, State } from './job.ts';

type Admitted = 'blocked' | 'scheduled' | 'awaiting_approval' | 'queued';

/** What is said of a job that was let in, or let in further. */
export const ADMITTED: Readonly<Record<Admitted, EventKind>> = {
  blocked: 'job.blocked',
  scheduled: 'job.scheduled',
  awaiting_approval: 'job.awaiting_approval',
  queued: 'job.queued',
};

/** Dependencies first, then time, then somebody's word; a job that waits for none of them is ready. */
export function admit(job: Pick<Job, 'waitingFor' | 'runAt' | 'approval'>, now: number): Admitted {
  if (job.waitingFor > 0) return 'blocked';
  if (job.runAt > now) return 'scheduled';
  if (job.approval === 'needed') return 'awaiting_approval';
  return 'queued';
}

/** Whether a dependency is satisfied by how its parent's lineage ended. */
export function dependencyMet(on: 'success' | 'failure' | 'complete', parentEnd: State): boolean {
  if (on === 'complete') return true;
  return on === 'success' ? parentEnd === 'done' : parentEnd !== 'done';
}
