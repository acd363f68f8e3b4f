/** About how large a job is, for whoever must not send too much at once. */

import type { Job } from '../../domain/job.ts';
import { LIMITS } from '../../domain/limits.ts';

/** About what the fields take that every job has. */
export const SHOWN_ALWAYS_BYTES = 1_024;

/** The job whose result is that of the dependency `edge`: the last of the lineage. Served by job_root. */
export const LAST_OF_PARENT = `coalesce((select member.no from job member where member.root_no = edge.parent_no
    order by member.retry_count desc, member.no desc limit 1), edge.parent_no)`;

/** How large that is of a job which came after it was made: how it ended, the comments that are shown, and what its dependencies made. */
export const PAST_BYTES = `
  coalesce((select coalesce(octet_length(result), 0) + coalesce(octet_length(error), 0)
    from job_result where job_no = job.no), 0)
  + coalesce((select sum(octet_length(body)) from comment
    where job_no = job.no and seq > job.comments - ${LIMITS.commentsShown}), 0)
  + case when job.dependencies = 0 then 0 else coalesce((select sum(octet_length(result.result))
    from dependency edge join job_result result on result.job_no = ${LAST_OF_PARENT}
    where edge.job_no = coalesce(job.root_no, job.no)), 0) end`;

/** What earlier holders left for the next one may take so much of a claim's answer. */
export function handedOnBytes({ questions, checkpointAt }: Job): number {
  return (questions === 0 ? 0 : LIMITS.answersBytes) + (checkpointAt === null ? 0 : LIMITS.checkpointBytes);
}
