import type { Job, SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { CliError, EXIT } from '../failure.ts';
import type { Session } from '../session.ts';
import { hasEnded } from '../text/states.ts';
import { duration } from '../text/times.ts';
import { block, jobLine } from './job-lines.ts';
import { jobRefs } from './job-ref.ts';

/** Short jobs are noticed at once, long ones cost little. */
const FIRST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 1_000;
/** A server that restarts meanwhile is waited for; one that is down at the start is told at once. */
const PATIENT = { retries: 8 };

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
  let job = await client.jobs.get(id);
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 1.5, LONGEST_LOOK_MS)) {
    if (hasEnded(job.state)) return job;
    const leftMs = until - session.now();
    if (leftMs <= 0)
      throw new CliError(
        EXIT.timeout,
        'timeout',
        `Job #${job.no} is still ${job.state} after ${duration(limitMs)}.`,
      );
    await session.sleep(Math.min(waitMs, leftMs));
    job = await client.jobs.get(id, { ...PATIENT, signal: session.signal });
  }
}

function endLines(job: Job): ReturnType<typeof block> {
  return [
    jobLine(job, 'ended'),
    ...block('result', job.result ?? undefined),
    ...block('error', job.error ?? undefined),
  ];
}
