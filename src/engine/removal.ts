/** Jobs that are removed by hand: their rows go with all that hangs on them, and no other job ever gets their numbers. */

import type { Actor } from '../domain/command.ts';
import type { Job } from '../domain/job.ts';
import type { Tx } from '../store/store.ts';
import { audit } from './audit.ts';
import type { ChangeSet } from './change-set.ts';

/** Of one job, and who did it is written down. */
export async function removeNamed(tx: Tx, changeSet: ChangeSet, actor: Actor, job: Job): Promise<void> {
  await audit(tx, changeSet, actor, 'job.delete', job.id, { no: job.no, state: job.state });
  await removeRows(tx, changeSet, [job]);
}

/** Of locked jobs. Files go before and once more: one may be written in between, and without the rows nobody looks for it. */
export async function removeRows(tx: Tx, changeSet: ChangeSet, jobs: readonly Job[]): Promise<void> {
  for (const job of jobs) {
    changeSet.forget(job);
    await tx.jobs.orphan(job.no);
  }
  await tx.jobs.remove(jobs.map(({ no }) => no));
}
