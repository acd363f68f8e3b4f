import type { Job, SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { CliError, EXIT } from '../failure.ts';
import { statusLine, type StatusLine } from '../progress.ts';
import type { Session } from '../session.ts';
import { duration } from '../text/times.ts';
import { block, jobLine } from './job-lines.ts';
import { jobRefs } from './job-ref.ts';

export const waitForJobs: Handler<{ readonly timeout?: number }> = async (session, { args, options }) => {
  const client = await session.client();
  const ids = await jobRefs(client, args);
  // A server that is away later is waited for; one that is away now is told at once, as by every command.
  const [first] = ids;
  if (first !== undefined) await client.jobs.get(first, { signal: session.signal });
  await waitForAll(session, client, ids, options.timeout ?? null);
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
  const line = statusLine(session);
  for (const id of ids) {
    const ends = { until, limitMs: limitMs ?? 0, before: ended.length, of: ids.length };
    const job = await theEnd(session, client, id, line, ends);
    ended.push(job);
    session.out.record(job, () => (session.out.quiet ? [] : endLines(job)));
  }
  const bad = ended.filter(({ state }) => state !== 'done');
  if (bad.length === 0) return;
  const names = bad.map(({ no, state }) => `job #${no} is ${state}`).join(', ');
  throw new CliError(EXIT.jobFailed, 'job_failed', `${names.charAt(0).toUpperCase()}${names.slice(1)}.`);
}

/** How often somebody who watches is told where the job stands. */
const LOOK_MS = 2_000;

interface Ends {
  readonly until: number;
  readonly limitMs: number;
  /** How many of how many have ended. */
  readonly before: number;
  readonly of: number;
}

async function theEnd(
  session: Session,
  client: SpineClient,
  id: string,
  line: StatusLine,
  { until, limitMs, before, of }: Ends,
): Promise<Job> {
  const lookMs = line.isSeen ? LOOK_MS : Infinity;
  try {
    for (let waitMs = 0; ; waitMs = lookMs) {
      const leftMs = Math.max(0, until - session.now());
      // A first look at once, for who watches.
      const wait = line.isSeen ? Math.min(waitMs, leftMs) : leftMs;
      const job = await client.jobs.wait(id, {
        ...(Number.isFinite(wait) && { waitMs: wait }),
        signal: session.signal,
      });
      if (job.ended) return job;
      const still = `Job #${job.no} is still ${job.state}`;
      if (session.now() >= until)
        throw new CliError(EXIT.timeout, 'timeout', `${still} after ${duration(limitMs)}.`);
      line.show(`${of === 1 ? '' : `${before} of ${of} have ended. `}${standing(job, session.now())}`);
    }
  } finally {
    line.end();
  }
}

/** `#12 running by left-claw for 1m30s: tests pass` */
function standing({ no, state, claimedBy, startedAt, updatedAt, progress }: Job, nowMs: number): string {
  const since = duration(Math.max(0, nowMs - Date.parse(startedAt ?? updatedAt)));
  const held = state === 'running' ? ` by ${claimedBy} for ${since}` : '';
  const far =
    progress === undefined ? '' : `: ${typeof progress === 'string' ? progress : JSON.stringify(progress)}`;
  return `#${no} ${state.replaceAll('_', ' ')}${held}${far}`;
}

function endLines(job: Job): ReturnType<typeof block> {
  return [
    jobLine(job, 'ended'),
    ...block('result', job.result ?? undefined),
    ...block('error', job.error ?? undefined),
  ];
}
