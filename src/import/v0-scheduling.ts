/** What a job of the files has beside its row when a schedule made it, or when it has a gate. */

import type { Job } from '../domain/job.ts';
import type { RunKind } from '../domain/schedule.ts';
import type { Tx } from '../store/store.ts';
import { type ApprovalStatus, RUN_ENDED } from '../store/types/scheduling.ts';
import { type Fields, textOf, timeOf, wholeOf } from './v0-files.ts';

const KINDS: readonly RunKind[] = ['cron', 'catch_up', 'manual', 'chain', 'spawn', 'retry', 'replay'];
const STATUSES: readonly ApprovalStatus[] = ['pending', 'approved', 'rejected', 'timed_out'];

/** Answers whether the job is a run. */
export async function insertRun(tx: Tx, { no, scheduleId }: Job, fields: Fields): Promise<boolean> {
  const run = objectIn(fields, 'run');
  const kind = KINDS.find((word) => word === run?.['kind']);
  if (scheduleId === null || run === null || kind === undefined) return false;
  const cause = textOf(run['triggeredBy']);
  const [triggering] = cause === null ? [] : await tx.lockJobs([cause]);
  await tx.insertRuns([
    {
      jobNo: no,
      scheduleId,
      kind,
      dueAt: timeOf(run['dueAt']),
      triggeredBy: triggering?.no ?? null,
      active: RUN_ENDED,
      sessionKey: null,
      transport: null,
      dispatchedAt: null,
      lastHeartbeat: null,
      contextSummary: null,
    },
  ]);
  return true;
}

export async function insertGate(tx: Tx, { no, scheduleId }: Job, fields: Fields): Promise<void> {
  const gate = objectIn(fields, 'approval');
  const status = STATUSES.find((word) => word === gate?.['status']);
  const timeoutMs = wholeOf(gate?.['timeoutMs']);
  if (gate === null || status === undefined || timeoutMs === null) return;
  const requestedAt = timeOf(gate['requestedAt']);
  await tx.insertApproval({
    jobNo: no,
    scheduleId,
    status,
    timeoutMs,
    auto: gate['auto'] === 'approve' ? 'approve' : 'reject',
    hash: textOf(gate['hash']) ?? '',
    requestedAt,
    expiresAt: requestedAt === null ? null : requestedAt + timeoutMs,
    resolvedAt: timeOf(gate['resolvedAt']),
    resolvedBy: textOf(gate['resolvedBy']),
    notes: textOf(gate['notes']),
  });
}

/** Whether somebody still has to agree. */
export function approvalIn(fields: Fields): Job['approval'] {
  const gate = objectIn(fields, 'approval');
  if (gate === null) return 'none';
  return gate['status'] === 'approved' ? 'given' : 'needed';
}

function objectIn(fields: Fields, name: string): Fields | null {
  const value = fields[name];
  return typeof value === 'object' && value !== null ? (value as Fields) : null;
}
