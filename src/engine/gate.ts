/** What somebody is asked to approve. */

import { createHash } from 'node:crypto';
import type { Gate } from '../domain/command.ts';
import type { Job, JobInput } from '../domain/job.ts';
import type { ApprovalRow } from '../store/types/scheduling.ts';

/** The row is made with the job; it is asked for when the job comes to its gate. */
export function approvalOf(job: Job, input: JobInput, gate: Gate): ApprovalRow {
  return {
    jobNo: job.no,
    scheduleId: job.scheduleId,
    status: 'pending',
    timeoutMs: gate.timeoutMs,
    auto: gate.auto,
    hash: subjectHash(job, input),
    requestedAt: null,
    expiresAt: null,
    resolvedAt: null,
    resolvedBy: null,
    notes: null,
  };
}

/** A job's input never changes, so this names exactly what is agreed to. */
function subjectHash({ target, typeNo }: Job, input: JobInput): string {
  const { title, description, spec, meta, params, budget } = input;
  const subject = JSON.stringify([target, typeNo, title, description, spec, meta, params, budget]);
  return createHash('sha256').update(subject).digest('hex');
}
