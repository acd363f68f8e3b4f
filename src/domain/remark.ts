/** What the engine says about a job beside what happened, among the comments of people. */

import type { Actor, SideWrites } from './command.ts';
import type { EventDraft } from './event.ts';
import type { Job } from './job.ts';
import { LIMITS } from './limits.ts';

interface Remark {
  readonly events: readonly EventDraft[];
  readonly writes?: Pick<SideWrites, 'comment'>;
}

/** Adds a comment to a row that is already a copy. A job that has all the comments it takes goes without. */
export function remark(job: Job, by: string, text: string): Remark {
  if (job.comments >= LIMITS.commentsPerJob) return { events: [] };
  job.comments += 1;
  const comment = text.slice(0, LIMITS.commentChars);
  return { events: [{ kind: 'job.comment', by, facts: { text: comment } }], writes: { comment } };
}

/** How many comments a job may have for this actor to add one. */
export function roomForComments({ role }: Pick<Actor, 'role'>): number {
  const { commentsPerJob, commentsReserved } = LIMITS;
  return role === 'head' || role === 'system' ? commentsPerJob : commentsPerJob - commentsReserved;
}
