/** The one way into the queue. Create, timers, parents' ends, approvals and redrive call only this. */

import type { Job, State } from './job.ts';

/** Dependencies first, then time, then somebody's word; a job that waits for none of them is ready. */
export function admit(job: Pick<Job, 'waitingFor' | 'runAt' | 'approval'>, now: number): State {
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
