/** A short load run against a running server, on a target and with a token of its own. */

import type { SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { usage } from '../failure.ts';
import { type Progress, progressBar } from '../progress.ts';
import type { Session } from '../session.ts';
import type { Line } from '../text/line.ts';
import { endToken, makeToken } from './tokens.ts';

interface Options {
  readonly jobs: number;
  readonly workers: number;
  readonly batch: number;
}

interface Measured {
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Report {
  readonly jobs: number;
  readonly workers: number;
  readonly batch: number;
  /** Times are of one create call. */
  readonly create: Measured;
  /** Times are of one claim and complete. */
  readonly work: Measured;
}

const MOST_JOBS = 1_000_000;
const MOST_WORKERS = 256;
const MOST_BATCH = 1_000;

export const bench: Handler<Options> = async (session, { options }) => {
  check('--jobs', options.jobs, MOST_JOBS);
  check('--workers', options.workers, MOST_WORKERS);
  check('--batch', options.batch, MOST_BATCH);
  const head = await session.client();
  const name = `bench-${head.platform.randomId().slice(0, 12)}`;
  const { token } = await makeToken(session, { name, role: 'worker', targets: [name] });
  try {
    const worker = await session.client([], token);
    const report = await measure(session, head, worker, name, options);
    session.out.result({ value: report, lines: () => reportLines(report) });
    session.out.info(
      `${options.jobs} finished jobs of the target ${name} stay until retention removes them.`,
    );
  } finally {
    await endToken(session, name);
  }
};

function check(option: string, count: number, most: number): void {
  if (count < 1 || count > most) throw usage(`${option} must be from 1 to ${most.toLocaleString('en')}.`);
}

async function measure(
  session: Session,
  head: SpineClient,
  worker: SpineClient,
  target: string,
  { jobs, workers, batch }: Options,
): Promise<Report> {
  const creating = progressBar(session, 'Creating', jobs);
  const create = await timed(head, jobs, (times) =>
    createAll(session, head, { target, jobs, batch }, times, creating),
  );
  creating.end();
  const working = progressBar(session, 'Working', jobs);
  const work = await timed(head, jobs, async (times) => {
    await Promise.all(Array.from({ length: workers }, () => workOff(session, worker, times, working)));
  });
  working.end();
  return { jobs, workers, batch, create, work };
}

async function timed(
  { platform }: SpineClient,
  jobs: number,
  work: (times: number[]) => Promise<void>,
): Promise<Measured> {
  const times: number[] = [];
  const startedMs = platform.nowMs();
  await work(times);
  const seconds = (platform.nowMs() - startedMs) / 1000;
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number): number =>
    rounded(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  return {
    seconds: rounded(seconds),
    perSecond: Math.round(jobs / seconds),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

async function createAll(
  session: Session,
  client: SpineClient,
  { target, jobs, batch }: { target: string; jobs: number; batch: number },
  times: number[],
  progress: Progress,
): Promise<void> {
  for (let made = 0; made < jobs; made += batch) {
    session.signal.throwIfAborted();
    const count = Math.min(batch, jobs - made);
    const startedMs = client.platform.nowMs();
    await client.jobs.createBatch(Array.from({ length: count }, () => ({ target, spec: 'bench' })));
    times.push(client.platform.nowMs() - startedMs);
    progress.add(count);
  }
}

/** One worker: claims a job and completes it, until none is left. */
async function workOff(
  session: Session,
  client: SpineClient,
  times: number[],
  progress: Progress,
): Promise<void> {
  for (;;) {
    session.signal.throwIfAborted();
    const startedMs = client.platform.nowMs();
    const [job] = await client.jobs.claimNext();
    if (job === undefined) return;
    await client.jobs.complete(job);
    times.push(client.platform.nowMs() - startedMs);
    progress.add(1);
  }
}

function reportLines({ jobs, workers, batch, create, work }: Report): Line[] {
  const line = (what: string, { perSecond, p50Ms, p99Ms }: Measured, of: string): Line =>
    `${what.padEnd(18)} ${perSecond.toLocaleString('en').padStart(9)}/s   p50 ${p50Ms} ms, p99 ${p99Ms} ms ${of}`;
  return [
    `${jobs.toLocaleString('en')} jobs, ${workers} workers`,
    line('created', create, `for ${batch} in one call`),
    line('claimed and done', work, 'for both calls'),
  ];
}
