/** What the outside is told: that a job ended, or that somebody's word is wanted. */

import type { Job, JobInput } from '../domain/job.ts';
import type { OutboxDraft } from '../domain/outbox.ts';

export function noticeOf(job: Job, input?: JobInput): OutboxDraft {
  const { id, no, target, state, attempts, finishedAt } = job;
  const event = input === undefined ? 'job.ended' : 'job.awaiting_approval';
  const body = {
    event,
    job: { id, no, target, state, attempts, finishedAt },
    ...(input && {
      text: `Job '${input.title ?? `#${no}`}' requires approval.`,
      approve: `spine approvals approve ${id}`,
      reject: `spine approvals reject ${id}`,
    }),
  };
  return { channel: 'webhook', kind: event, jobNo: no, body: JSON.stringify(body), at: job.updatedAt };
}
