/** Real randomness for ids and lease tokens. */

import { randomFillSync } from 'node:crypto';
import type { Ids } from '../domain/ports.ts';

/** Random bytes are drawn in blocks: one call for each id would cost more than the id. */
const POOL_BYTES = 4096;

export function systemIds(): Ids {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  const take = (count: number): Buffer => {
    if (used + count > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    used += count;
    return pool.subarray(used - count, used);
  };
  return {
    jobId: (nowMs) => uuidV7(nowMs, take(10)),
    leaseToken: () => take(16).toString('base64url'),
    fraction: () => take(4).readUInt32LE() / 2 ** 32,
  };
}

function uuidV7(nowMs: number, random: Buffer): string {
  const time = nowMs.toString(16).padStart(12, '0');
  const rest = random.toString('hex');
  const variant = ((random[2] ?? 0) & 0x3f) | 0x80;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(1, 4)}-${variant.toString(16)}${rest.slice(6, 8)}-${rest.slice(8, 20)}`;
}
