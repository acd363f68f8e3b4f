/** Real randomness for ids and lease tokens. */

import { randomFillSync } from 'node:crypto';
import type { Ids } from '../domain/ports.ts';

/** Random bytes are drawn in blocks: one call for each id would cost more than the id. */
const POOL_BYTES = 4096;

export function systemIds(): Ids {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  /** Where so many fresh bytes begin: they are read in place, as a view of them would cost more than the token. */
  const take = (count: number): number => {
    if (used + count > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    used += count;
    return used - count;
  };
  return {
    jobId: (nowMs) => uuidV7(nowMs, pool, take(10)),
    leaseToken: () => pool.toString('base64url', take(16), used),
    fraction: () => pool.readUInt32LE(take(4)) / 2 ** 32,
  };
}

function uuidV7(nowMs: number, random: Buffer, at: number): string {
  const time = nowMs.toString(16).padStart(12, '0');
  const rest = random.toString('hex', at, at + 10);
  const variant = ((random[at + 2] ?? 0) & 0x3f) | 0x80;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(1, 4)}-${variant.toString(16)}${rest.slice(6, 8)}-${rest.slice(8, 20)}`;
}
