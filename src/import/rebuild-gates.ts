/** What a job's events say about its gate. */

import type { JobEvent } from '../domain/event.ts';
import type { Tx } from '../store/store.ts';
import type { ApprovalStatus } from '../store/types/scheduling.ts';

interface GateMove {
  readonly jobNo: number;
  readonly at: number;
  /** Null when the job came to its gate. */
  readonly verdict: {
    readonly status: ApprovalStatus;
    readonly by: string;
    readonly notes: string | null;
  } | null;
}

/** In the order of the events. */
export function gateMoves(events: readonly JobEvent[]): GateMove[] {
  return events.flatMap(({ jobNo, at, kind, by, facts }): GateMove[] => {
    if (kind === 'job.approved')
      return [{ jobNo, at, verdict: { status: 'approved', by, notes: textOf(facts?.['notes']) } }];
    if (kind === 'job.rejected') {
      const late = by === 'timeout';
      const notes = late ? null : textOf(facts?.['reason']);
      return [{ jobNo, at, verdict: { status: late ? 'timed_out' : 'rejected', by, notes } }];
    }
    return facts?.['state'] === 'awaiting_approval' ? [{ jobNo, at, verdict: null }] : [];
  });
}

export async function moveGates(tx: Tx, moves: readonly GateMove[]): Promise<void> {
  for (const { jobNo, at, verdict } of moves) {
    if (verdict === null) await tx.requestApproval(jobNo, at);
    else {
      const { status, by, notes } = verdict;
      // The event names who it was; the approval itself only says that a person decided, or nobody in time.
      const resolvedBy = by === 'timeout' ? by : 'operator';
      await tx.resolveApproval(jobNo, { status, resolvedAt: at, resolvedBy, notes });
    }
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
