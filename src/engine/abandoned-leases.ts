/** Ends leases under `presence` whose holders are gone. */

import type { Actor } from '../domain/command.ts';
import { decide } from '../domain/decide.ts';
import type { Core } from './core.ts';

const BATCH = 100;

/** Looks again at the locked rows: a holder may have been heard from, or another server been quicker. */
export async function endAbandoned(
  core: Core,
  actor: Actor,
): Promise<{ readonly done: number; readonly more: boolean }> {
  const found = await core.store.read.leases.abandoned(core.now(), silentSince(core, core.now()), BATCH);
  if (found.length === 0) return { done: 0, more: false };
  const ended = await core.flusher.transact(actor, async (tx, changeSet) => {
    const jobs = await tx.jobs.lock(found.map(({ id }) => id));
    const still = await tx.leases.abandoned(changeSet.now, silentSince(core, changeSet.now), BATCH);
    const workers = new Map(still.map(({ leaseToken, worker }) => [leaseToken, worker]));
    for (const job of jobs) {
      const worker = workers.get(job.leaseToken ?? '');
      if (worker === undefined) continue;
      const absent = { kind: 'expire', id: job.id, actor, absent: { worker } } as const;
      changeSet.apply(decide(changeSet.load(job), absent, changeSet.now), actor);
    }
    return workers.size;
  });
  return { done: ended, more: ended > 0 && found.length === BATCH };
}

/** What another server has heard may not be written down yet. */
function silentSince({ stuck, store, heardMs }: Core, now: number): number {
  return now - stuck.offlineMs - (store.dialect === 'postgres' ? heardMs : 0);
}
