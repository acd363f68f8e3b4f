/** What GET /health/details says about the parts of the server. */

import type { Health } from '../../client/index.ts';
import type { Session } from '../session.ts';

export interface LoopState {
  readonly name: string;
  readonly everyMs?: number;
  readonly lastRunAt: number | null;
  readonly lastError: string | null;
}

export interface HealthDetails extends Health {
  readonly store?: string;
  readonly pendingCommands?: number;
  readonly loops?: readonly LoopState[];
  /** Targets for which work waits, and why nobody does it. */
  readonly unserved?: readonly { readonly target: string; readonly queued: number; readonly why: string }[];
  readonly files?: {
    readonly on: boolean;
    readonly journal?: { readonly lagMs?: number | null };
    readonly files?: { readonly lagMs?: number | null };
  };
}

export async function healthDetails(session: Session): Promise<HealthDetails> {
  const caller = await session.caller();
  return await caller.json({ method: 'GET', path: '/health/details', repeatable: true });
}

export function failing({ loops = [] }: HealthDetails): readonly LoopState[] {
  return loops.filter(({ lastError }) => lastError !== null);
}
