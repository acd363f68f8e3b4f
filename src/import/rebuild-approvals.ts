/** What a job's events say about its approval. */

import type { ApprovalStatus } from '../domain/approval.ts';
import type { JobEvent } from '../domain/event.ts';
import type { Tx } from '../store/store.ts';

interface ApprovalMove {
  readonly jobNo: number;
  readonly at: number;
  /** Null when the job came up for approval. */
  readonly verdict: {
    readonly status: ApprovalStatus;
    readonly by: string;
    readonly notes: string | null;
  } | null;
}

/** In the order of the events. */
export function approvalMoves(events: readonly JobEvent[]): ApprovalMove[] {
  return events.flatMap(({ jobNo, at, kind, by, facts }): ApprovalMove[] => {
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

export async function moveApprovals(tx: Tx, moves: readonly ApprovalMove[]): Promise<void> {
  for (const { jobNo, at, verdict } of moves) {
    if (verdict === null) await tx.approvals.request(jobNo, at);
    else {
      const { status, by, notes } = verdict;
      // The event names who it was; the approval itself only says that a person decided, or nobody in time.
      const resolvedBy = by === 'timeout' ? by : 'operator';
      await tx.approvals.resolve(jobNo, { status, resolvedAt: at, resolvedBy, notes });
    }
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
