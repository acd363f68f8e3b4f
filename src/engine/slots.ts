/** Slots inside a claim: look at all the pools a job needs, then take one of each. */

import { SYSTEM } from '../domain/actor.ts';
import type { EventDraft } from '../domain/event.ts';
import type { Job } from '../domain/job.ts';
import { isKeyPool, slotPools } from '../domain/pool.ts';
import type { Tx } from '../store/store.ts';

/** The first pool that has no room for this job, or null when all have. */
export async function fullPool(tx: Tx, job: Job): Promise<string | null> {
  for (const pool of slotPools(job)) {
    if (isKeyPool(pool)) await tx.pools.ensureKeySlots(pool, job.pool);
    if ((await tx.pools.freeSlots(pool, 1)).length === 0) return pool;
  }
  return null;
}

export async function takeSlotsFor(tx: Tx, job: Job): Promise<void> {
  for (const pool of slotPools(job)) {
    const [idx] = await tx.pools.freeSlots(pool, 1);
    if (idx === undefined) throw new Error(`pool ${pool} lost its free slot within one transaction`);
    await tx.pools.takeSlots([{ pool, idx, jobNo: job.no }]);
  }
}

/** The job waits for a slot of `pool`, out of the way of those that can run. */
export function parked(job: Job, pool: string, now: number): { job: Job; events: EventDraft[] } {
  const next: Job = { ...job, state: 'blocked', blockedOn: pool, updatedAt: now };
  return { job: next, events: [{ kind: 'job.blocked', by: SYSTEM.name, facts: { pool } }] };
}
