import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpClient, httpClient, type JobBody } from '../test/support/http.ts';
import { startServer, type TestServer } from '../test/support/server.ts';
import { percentile, rounded } from './measure.ts';
import { coreShare } from './process.ts';
import { type ProofReport, report } from './report.ts';
import type { ProofStore } from './stores.ts';

const LONGEST_WAIT_MS = 60_000;
const LONG_LEASE_MS = 3_600_000;
const BATCH = 500;
const WARM_UP = 20;
const COMES_TO_REST_MS = 3_000;
/** A claim that was sent this long ago stands in line. */
const STANDS_IN_LINE_MS = 15;
const HANDED_OUT_WITHIN_MS = 180_000;
/** A job that is handed out twice is so soon after the first time. */
const AFTERMATH_MS = 500;

export interface WaitersOptions {
  readonly workers: number;
  readonly jobs: number;
  /** How often the way from enqueue to claim is measured. */
  readonly samples: number;
  readonly idleMs: number;
  readonly limits: WaitersLimits;
}

export interface WaitersLimits {
  /** Of one core, while everybody waits. */
  readonly coreShare: number;
  readonly latencyMs: number;
  /** From a server to a waiter on another. */
  readonly acrossMs: number;
}

/** Waiting claimers cost next to nothing, hear of work at once, and share it without a duplicate. */
export async function proveWaiters(store: ProofStore, options: WaitersOptions): Promise<ProofReport> {
  const startedMs = performance.now();
  const { limits } = options;
  await using server = await startServer(store.server);
  const violations: string[] = [];

  const alone = await latencies(server, server, options.samples);
  violations.push(...alone.violations);
  const p99 = rounded(percentile(alone.samples, 0.99));
  if (!(p99 < limits.latencyMs)) violations.push(`enqueue to claim took ${p99} ms (p99)`);
  let across: number | undefined;
  if (store.kind === 'postgres') {
    await using other = await startServer(store.server);
    const found = await latencies(server, other, options.samples);
    violations.push(...found.violations);
    across = rounded(percentile(found.samples, 0.99));
    if (!(across < limits.acrossMs))
      violations.push(`enqueue to claim over two servers took ${across} ms (p99)`);
  }

  const shared = await shareAmongWaiters(server, options);
  violations.push(...shared.violations);
  const share = shared.share === undefined ? undefined : rounded(shared.share * 100);
  if (share !== undefined && share >= limits.coreShare * 100)
    violations.push(`${options.workers} waiters took ${share} % of a core`);
  return report({
    proof: 'waiters',
    store: store.kind,
    summary:
      `${options.workers} waiters take ${share ?? '?'} % of a core, then share ${options.jobs} jobs in ${shared.seconds} s; ` +
      `enqueue to claim p50 ${rounded(percentile(alone.samples, 0.5))} ms, p99 ${p99} ms ` +
      `(of it the enqueue itself p50 ${rounded(percentile(alone.answered, 0.5))} ms, p99 ${rounded(percentile(alone.answered, 0.99))} ms)` +
      (across === undefined ? '' : `, over two servers p99 ${across} ms`),
    counts: {
      workers: options.workers,
      jobs: options.jobs,
      latencyP99Ms: p99,
      ...(share === undefined ? {} : { corePercent: share }),
      ...(across === undefined ? {} : { acrossP99Ms: across }),
    },
    violations,
    startedMs,
  });
}

/** From sending the job to one server until a waiter on the other has it, when nothing else happens. */
async function latencies(
  enqueuing: TestServer,
  claiming: TestServer,
  samples: number,
): Promise<{ samples: number[]; answered: number[]; violations: string[] }> {
  const times: number[] = [];
  const answered: number[] = [];
  const violations: string[] = [];
  for (let round = 0; round < WARM_UP + samples; round++) {
    const waiting = claim(claiming.left).then((jobs) => ({ jobs, atMs: performance.now() }));
    await sleep(STANDS_IN_LINE_MS + (round % 10));
    const sentMs = performance.now();
    const made = await enqueuing.head.post<JobBody>('/jobs', { target: 'left-claw' });
    const answeredMs = performance.now() - sentMs;
    const { jobs, atMs } = await waiting;
    if (jobs.length !== 1 || jobs[0]?.id !== made.body.id)
      violations.push(`a waiter got ${jobs.length} jobs, not the one that came`);
    if (round < WARM_UP) continue;
    times.push(atMs - sentMs);
    answered.push(answeredMs);
  }
  return { samples: times, answered, violations };
}

async function claim(client: HttpClient): Promise<readonly JobBody[]> {
  const answer = await client.post<{ jobs?: JobBody[] }>(
    '/jobs/claim',
    { waitMs: LONGEST_WAIT_MS, leaseMs: LONG_LEASE_MS },
    { timeoutMs: LONGEST_WAIT_MS + 30_000 },
  );
  if (answer.body.jobs === undefined) throw new Error(`claim was answered ${answer.status} ${answer.text}`);
  return answer.body.jobs;
}

async function shareAmongWaiters(
  server: TestServer,
  { workers, jobs, idleMs }: WaitersOptions,
): Promise<{ share: number | undefined; seconds: number; violations: string[] }> {
  const client = httpClient(server.url, { token: server.tokens.left, sockets: workers });
  const given: string[] = [];
  const violations: string[] = [];
  let closing = false;
  const work = async (): Promise<void> => {
    // Ends when its connection is closed.
    for (;;) given.push(...(await claim(client)).map((job) => job.id));
  };
  const working = Array.from({ length: workers }, () =>
    work().catch((problem: unknown) => {
      if (!closing) violations.push(`a worker was cut off: ${String(problem)}`);
    }),
  );
  // Until the last of them stands in line and the server is quiet: come to rest, it gives memory back once.
  await sleep(COMES_TO_REST_MS);
  const share = await coreShare(server.pid, idleMs);
  if (given.length > 0) violations.push(`${given.length} jobs were handed out before there were any`);

  const fromMs = performance.now();
  const made: string[] = [];
  for (let left = jobs; left > 0; left -= BATCH) {
    const batch = Array.from({ length: Math.min(left, BATCH) }, () => ({ target: 'left-claw' }));
    const answer = await server.head.post<{ jobs: JobBody[] }>('/jobs/batch', { jobs: batch });
    made.push(...answer.body.jobs.map((job) => job.id));
  }
  while (given.length < jobs && performance.now() - fromMs < HANDED_OUT_WITHIN_MS) await sleep(5);
  const seconds = rounded((performance.now() - fromMs) / 1_000);
  await sleep(AFTERMATH_MS);
  closing = true;
  client.close();
  await Promise.all(working);
  const queued = await server.head.get<{ jobs: JobBody[] }>('/jobs?state=queued&limit=10');
  violations.push(
    ...handedOutOnce(made, given),
    ...queued.body.jobs.map(({ id }) => `job ${id} is left over`),
  );
  return { share, seconds, violations };
}

function handedOutOnce(made: readonly string[], given: readonly string[]): string[] {
  const times = new Map<string, number>();
  for (const id of given) times.set(id, (times.get(id) ?? 0) + 1);
  const wrong = made.filter((id) => times.get(id) !== 1);
  const foreign = times.size - made.filter((id) => times.has(id)).length;
  return [
    ...wrong.map((id) => `job ${id} was handed out ${times.get(id) ?? 0} times`),
    ...(foreign > 0 ? [`${foreign} jobs were handed out that nobody made`] : []),
  ];
}
