/** Ends what workers left running that fell silent, where this installation can. */

import type { Clock } from '../domain/ports.ts';
import { isLabelOf, type WorkerSlot } from '../domain/worker-slot.ts';
import type { OpenEngine } from '../engine/open-engine.ts';
import type { EndSession } from '../loops/watchdog.ts';
import type { WorkerLog } from '../worker/ports.ts';

export interface LeftSessionsOptions {
  readonly engine: Pick<OpenEngine, 'sessions'>;
  /** Ends a turn at the server's own gateway; null while there is none. */
  readonly endTurn: () => ((sessionKey: string) => Promise<void>) | null;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: WorkerLog;
}

/** Whoever waits for the task of a silent worker waits no longer than this for its session. */
const LIMIT_MS = 12_000;

export function endingOf(options: LeftSessionsOptions): EndSession {
  const { clock, log } = options;
  return async (slot) => {
    let inTime = (): void => {};
    const late = new Promise<never>((_, reject) => {
      const problem = `It did not end within ${LIMIT_MS} ms.`;
      inTime = clock.after(LIMIT_MS, () => reject(new Error(problem)));
    });
    try {
      await Promise.race([end(options, slot), late]);
    } catch (error) {
      // Its task goes back all the same; the next process of the slot tries again.
      const { sessionId: session } = slot;
      log.warn('What a silent worker left running could not be ended', { slot: slot.slot, session, error });
    } finally {
      inTime();
    }
  };
}

async function end({ engine, endTurn }: LeftSessionsOptions, slot: WorkerSlot): Promise<void> {
  const { sessionId, metadata } = slot;
  if (metadata['runner'] !== 'gateway') return engine.sessions.endOf(slot);
  // A worker says itself what its session is: turns of others are none of its own.
  if (sessionId !== null && isLabelOf(slot, sessionId)) await endTurn()?.(sessionId);
}
