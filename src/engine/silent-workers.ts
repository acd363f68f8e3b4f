/** What becomes of a worker that was not heard from. */

import type { Actor } from '../domain/command.ts';
import { foundStale, isDoing, isStale, type WorkerSlot } from '../domain/worker-slot.ts';
import type { Reads } from '../store/store.ts';
import type { Core } from './core.ts';
import { giveBack } from './workers.ts';

/** A worker that is heard from ends its session itself once its lease is lost. Of the time until it counts as stale. */
const QUIET_SHARE = 0.5;

/** Looks again at the locked row: the worker may have been heard from, or another server been quicker. */
export async function judgeSilent(core: Core, actor: Actor, name: string): Promise<WorkerSlot | null> {
  const subscribers = await core.subscribers();
  return core.flusher.transact(actor, async (tx, changeSet) => {
    const slot = await tx.workers.lock(name);
    if (slot === null || !isStale(slot, core.workers.staleMs, changeSet.now)) return null;
    if (await isHeld(tx, slot, changeSet.now)) return null;
    await giveBack(tx, changeSet, actor, slot, null);
    await tx.workers.save(foundStale(slot, changeSet.now));
    if (subscribers.list.length > 0) await changeSet.announcer.slotStale(tx, slot, subscribers);
    return slot;
  });
}

/** Slots that were not heard from lately, and whose sessions may still work on these jobs. */
export async function leftBehind(core: Core, jobIds: readonly string[]): Promise<WorkerSlot[]> {
  const slots = await core.store.read.workers.all();
  const since = core.now() - core.workers.staleMs * QUIET_SHARE;
  return slots.filter(
    ({ sessionId, jobId, lastUpdate }) =>
      sessionId !== null && jobId !== null && jobIds.includes(jobId) && lastUpdate < since,
  );
}

/** A lease that is renewed shows a worker that lives, whatever became of its heartbeats. */
export async function isHeld({ jobs }: Pick<Reads, 'jobs'>, slot: WorkerSlot, now: number): Promise<boolean> {
  const job = slot.jobId === null ? null : await jobs.byId(slot.jobId);
  if (job === null || !isDoing(slot, job)) return false;
  return job.leaseUntil !== null && job.leaseUntil > now;
}
