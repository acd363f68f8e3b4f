/** Which slots a job must hold while it runs. */

import type { Job } from './job.ts';

const LANES = 'lanes ';

/** A job with only a concurrency key shares one slot with the others of that key. */
export function slotPools(job: Pick<Job, 'pool' | 'concurrencyKey'>): string[] {
  const pools: string[] = [];
  if (job.pool !== null) pools.push(job.pool);
  if (job.concurrencyKey !== null) pools.push(keyPool(job.pool, job.concurrencyKey));
  return pools;
}

/** The slash cannot occur in a pool's name, so a key's pool never meets a named one. */
export function keyPool(pool: string | null, key: string): string {
  return `${pool ?? ''}/${key}`;
}

export function isKeyPool(name: string): boolean {
  return name.includes('/');
}

/** The lanes of a target are slots too. The space cannot occur in a pool's name. */
export function lanePool(target: string): string {
  return `${LANES}${target}`;
}

export function targetOfLanes(pool: string): string | null {
  return pool.startsWith(LANES) ? pool.slice(LANES.length) : null;
}

/** Whether the job may hold a lane: those that the server's own workers took. */
export function mayHoldLane(job: Pick<Job, 'leasePolicy'>): boolean {
  return job.leasePolicy === 'adopt';
}

export function needsSlots(job: Pick<Job, 'pool' | 'concurrencyKey'>): boolean {
  return job.pool !== null || job.concurrencyKey !== null;
}
