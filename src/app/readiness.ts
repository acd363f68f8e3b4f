/** Whether this server can take work now, and if not, why. Known without asking anybody, so that the answer is quick. */

import type { Unready } from '../http/parts.ts';
import type { LoopStatus } from '../loops/loop.ts';
import type { Store } from '../store/store.ts';

/** The pulse writes every second; one that took so long stands for every other write. */
const SLOW_MS = 5_000;

export interface Known {
  readonly store: Pick<Store, 'trouble'>;
  readonly stopping: boolean;
  readonly started: boolean;
  readonly pulse: LoopStatus | undefined;
  readonly now: number;
}

export function unreadyBecause({ store, stopping, started, pulse, now }: Known): Unready | null {
  if (stopping) return { reason: 'stopping', problem: 'This server is stopping.' };
  const trouble = store.trouble();
  if (trouble !== null) return { reason: 'database', problem: `Not now: ${trouble}.` };
  if (!started || pulse === undefined || pulse.lastRunAt === null)
    return { reason: 'starting', problem: 'This server is starting.' };
  if (pulse.lastErrorCode === 'disk_full') return { reason: 'disk_full', problem: 'The disk is full.' };
  if (pulse.lastError !== null)
    return { reason: 'database', problem: 'The last write to the database failed.' };
  if (now - pulse.lastRunAt > SLOW_MS)
    return { reason: 'slow', problem: `The database has taken more than ${SLOW_MS} ms for a small write.` };
  return null;
}
