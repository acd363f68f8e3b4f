/** About how large a job is, for whoever must not send too much at once. */

import type { Job } from '../../domain/job.ts';
import { LIMITS } from '../../domain/limits.ts';

/** About what the fields take that every job has. */
export const SHOWN_ALWAYS_BYTES = 1_024;

/** How large that is of a job which came after it was made: how it ended, and the comments that are shown. */
export const PAST_BYTES = `
  coalesce((select coalesce(octet_length(result), 0) + coalesce(octet_length(error), 0)
    from job_result where job_no = job.no), 0)
  + coalesce((select sum(octet_length(body)) from comment
    where job_no = job.no and seq > job.comments - ${LIMITS.commentsShown}), 0)`;

/** What earlier holders left for the next one may take so much of a claim's answer. */
export function handedOnBytes({ questions, checkpointAt }: Job): number {
  return (questions === 0 ? 0 : LIMITS.answersBytes) + (checkpointAt === null ? 0 : LIMITS.checkpointBytes);
}
