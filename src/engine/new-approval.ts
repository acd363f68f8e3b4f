/** What somebody is asked to approve. */

import { createHash } from 'node:crypto';
import type { Approval } from '../domain/approval.ts';
import type { ApprovalTerms } from '../domain/command.ts';
import type { Job, JobInput } from '../domain/job.ts';

/** The row is made with the job; somebody is asked when the job comes up for approval. */
export function newApproval(job: Job, input: JobInput, approvalTerms: ApprovalTerms): Approval {
  return {
    jobNo: job.no,
    scheduleId: job.scheduleId,
    status: 'pending',
    timeoutMs: approvalTerms.timeoutMs,
    auto: approvalTerms.auto,
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
