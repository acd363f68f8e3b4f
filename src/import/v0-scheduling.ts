/** What a job of the files has beside its row when a schedule made it, or when it has an approval. */

import type { ApprovalStatus } from '../domain/approval.ts';
import type { Job } from '../domain/job.ts';
import { contextOfFound } from '../domain/run-context.ts';
import { RUN_ENDED, type RunKind } from '../domain/run.ts';
import type { Tx } from '../store/store.ts';
import { type Fields, textOf, timeOf, wholeOf } from './v0-files.ts';

const KINDS: readonly RunKind[] = ['cron', 'catch_up', 'manual', 'chain', 'spawn', 'retry', 'replay'];
const STATUSES: readonly ApprovalStatus[] = ['pending', 'approved', 'rejected', 'timed_out'];

/** Answers whether the job is a run. */
export async function insertRun(tx: Tx, { no, scheduleId, state }: Job, fields: Fields): Promise<boolean> {
  const run = objectIn(fields, 'run');
  const kind = KINDS.find((word) => word === run?.['kind']);
  if (scheduleId === null || run === null || kind === undefined) return false;
  const cause = textOf(run['triggeredBy']);
  const [triggering] = cause === null ? [] : await tx.jobs.lock([cause]);
  await tx.runs.insert([
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
      contextSummary: contextOfFound(fields['meta'], state),
      promptHash: null,
    },
  ]);
  return true;
}

export async function importApproval(tx: Tx, { no, scheduleId }: Job, fields: Fields): Promise<void> {
  const approval = objectIn(fields, 'approval');
  const status = STATUSES.find((word) => word === approval?.['status']);
  const timeoutMs = wholeOf(approval?.['timeoutMs']);
  if (approval === null || status === undefined || timeoutMs === null) return;
  const requestedAt = timeOf(approval['requestedAt']);
  await tx.approvals.insert({
    jobNo: no,
    scheduleId,
    status,
    timeoutMs,
    auto: approval['auto'] === 'approve' ? 'approve' : 'reject',
    hash: textOf(approval['hash']) ?? '',
    requestedAt,
    expiresAt: requestedAt === null ? null : requestedAt + timeoutMs,
    resolvedAt: timeOf(approval['resolvedAt']),
    resolvedBy: textOf(approval['resolvedBy']),
    notes: textOf(approval['notes']),
  });
}

/** Whether somebody still has to agree. */
export function approvalIn(fields: Fields): Job['approval'] {
  const approval = objectIn(fields, 'approval');
  if (approval === null) return 'none';
  return approval['status'] === 'approved' ? 'given' : 'needed';
}

function objectIn(fields: Fields, name: string): Fields | null {
  const value = fields[name];
  return typeof value === 'object' && value !== null ? (value as Fields) : null;
}
