/** What is told of one job. What is small is told at once, anything else when there is room for it and in its caller's turn. */

import type { Job, JobDetails } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Call } from './routes.ts';

interface Telling {
  /** A commit has to be told of, however long that takes. */
  readonly done: boolean;
  /** What is told beside the job. */
  readonly moreBytes?: number;
}

/** Null when retention has removed the job meanwhile. */
export async function tellOf<T>(
  call: Call,
  job: Job,
  telling: Telling,
  tell: (details: JobDetails) => T | Promise<T>,
): Promise<T | null> {
  const { jobs } = call.engine;
  const isLong = (telling.moreBytes ?? 0) > LIMITS.smallBytes;
  const small = isLong ? undefined : (await jobs.smallDetails([job])).get(job.no);
  if (small !== undefined) return tell(small);
  return inTurn(call, job, telling, async () => {
    const details = (await jobs.details([job])).get(job.no);
    return details === undefined ? null : tell(details);
  });
}

/**
 * Reads and prints what there is of a job. A commit may answer hundreds of callers: those with much to show go one after
 * another, or nobody else would be heard.
 */
export async function inTurn<T>(
  call: Call,
  job: Job,
  { done, moreBytes = 0 }: Telling,
  tell: () => T | Promise<T>,
): Promise<T> {
  const { engine, actor, parts } = call;
  const sizes = await parts.longWork.run(actor, () => engine.jobs.sizes([job]));
  await parts.room.take(call, moreBytes + (sizes.get(job.no) ?? 0), done);
  return await parts.longWork.run(actor, tell);
}
