/** Pools, and which slots of them a job must hold while it runs. */

import type { Job } from './job.ts';

export interface Pool {
  readonly name: string;
  readonly capacity: number;
  readonly perKey: number;
}

/** A pool that nobody has sized lets one job run at a time. */
export function unsizedPool(name: string): Pool {
  return { name, capacity: 1, perKey: 1 };
}

export interface PoolUse extends Pool {
  readonly running: number;
  readonly waiting: number;
}

const GATEWAY_SLOTS = 'slots ';

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

/** How many turns a gateway may run at once is a pool too. The space cannot occur in a pool's name. */
export function gatewayPool(target: string): string {
  return `${GATEWAY_SLOTS}${target}`;
}

export function targetOfGatewayPool(pool: string): string | null {
  return pool.startsWith(GATEWAY_SLOTS) ? pool.slice(GATEWAY_SLOTS.length) : null;
}

/** Whether the job may hold a slot of a gateway: those that the server's own workers took. */
export function mayHoldGatewaySlot(job: Pick<Job, 'leasePolicy'>): boolean {
  return job.leasePolicy === 'adopt';
}

export function needsSlots(job: Pick<Job, 'pool' | 'concurrencyKey'>): boolean {
  return job.pool !== null || job.concurrencyKey !== null;
}
