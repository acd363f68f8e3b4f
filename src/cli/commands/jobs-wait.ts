import type { Job, SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { CliError, EXIT } from '../failure.ts';
import type { Session } from '../session.ts';
import { duration } from '../text/times.ts';
import { block, jobLine } from './job-lines.ts';
import { jobRefs } from './job-ref.ts';

export const waitForJobs: Handler<{ readonly timeout?: number }> = async (session, { args, options }) => {
  const client = await session.client();
  await waitForAll(session, client, await jobRefs(client, args), options.timeout ?? null);
};

/** Prints every job as it has ended. */
export async function waitForAll(
  session: Session,
  client: SpineClient,
  ids: readonly string[],
  limitMs: number | null,
): Promise<void> {
  const until = limitMs === null ? Infinity : session.now() + limitMs;
  const ended: Job[] = [];
  for (const id of ids) {
    const job = await theEnd(session, client, id, until, limitMs ?? 0);
    ended.push(job);
    session.out.record(job, () => (session.out.quiet ? [] : endLines(job)));
  }
  const bad = ended.filter(({ state }) => state !== 'done');
  if (bad.length === 0) return;
  const names = bad.map(({ no, state }) => `job #${no} is ${state}`).join(', ');
  throw new CliError(EXIT.jobFailed, 'job_failed', `${names.charAt(0).toUpperCase()}${names.slice(1)}.`);
}

async function theEnd(
  session: Session,
  client: SpineClient,
  id: string,
  until: number,
  limitMs: number,
): Promise<Job> {
  const waitMs = until - session.now();
  const wait = Number.isFinite(waitMs) ? { waitMs: Math.max(0, waitMs) } : {};
  const job = await client.jobs.wait(id, { ...wait, signal: session.signal });
  if (job.ended) return job;
  throw new CliError(
    EXIT.timeout,
    'timeout',
    `Job #${job.no} is still ${job.state} after ${duration(limitMs)}.`,
  );
}

function endLines(job: Job): ReturnType<typeof block> {
  return [
    jobLine(job, 'ended'),
    ...block('result', job.result ?? undefined),
    ...block('error', job.error ?? undefined),
  ];
}
