import { deepStrictEqual, doesNotMatch, match, ok, strictEqual } from 'node:assert';
import { test } from 'node:test';
import {
  type ClaimedJob,
  type Handler,
  type JobInterrupted,
  SpineClient,
  Worker,
  type WorkerOptions,
} from '../../src/client/index.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { codeIn, runExample } from './example.ts';
import { losingProxy } from './losing-proxy.ts';
import { until } from './support.ts';

const EXAMPLE = codeIn('docs/guides/workers.md').get('examples/worker.mjs') ?? '';

function headOf({ url, tokens }: TestServer): SpineClient {
  return new SpineClient({ baseUrl: url, token: tokens.head });
}

/** A worker of the left claw's that runs until it is disposed of, and what it heard. */
function startWorker(
  { url, tokens }: Pick<TestServer, 'url' | 'tokens'>,
  handler: Handler,
  options: Partial<WorkerOptions> = {},
) {
  const reported: unknown[] = [];
  const client = new SpineClient({ baseUrl: url, token: tokens.left });
  const worker = new Worker({
    client,
    handler,
    waitMs: 1_000,
    onError: (error) => reported.push(error),
    ...options,
  });
  const running = worker.run();
  return {
    reported,
    [Symbol.asyncDispose]: async () => {
      await worker.stop({ drainMs: 1_000 });
      await running;
      await client.close();
    },
  };
}

async function countOf(head: SpineClient, id: string, type: string): Promise<number> {
  let count = 0;
  for await (const event of head.jobs.events(id)) if (event.type === type) count += 1;
  return count;
}

function untilStatus(head: SpineClient, id: string, status: string) {
  return until(async () => {
    const job = await head.jobs.get(id);
    return job.status === status && job;
  });
}

function endless(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error)),
  );
}

test('a job outlives a kill -9 and restart of the server in its middle, in one attempt', async () => {
  // Longer than any restart: a worker gives up by itself what it may not hold any more.
  await using server = await startServer({ leaseMs: 120_000 });
  const head = headOf(server);
  let finish: (result: string) => void = () => {};
  let started: (job: ClaimedJob) => void = () => {};
  const running = new Promise<ClaimedJob>((resolve) => (started = resolve));
  await using _worker = startWorker(server, (job) => {
    started(job);
    return new Promise((resolve) => (finish = resolve));
  });
  const { id } = await head.jobs.create({ spec: 'long' });
  await running;
  await server.kill('SIGKILL');
  // The end comes while nobody is there to take it.
  finish('whole');
  await server.restart();
  const job = await untilStatus(head, id, 'done');
  deepStrictEqual([job.result, job.attempts], ['whole', 1]);
  strictEqual(await countOf(head, id, 'job.completed'), 1);
});

test('a worker whose job was taken away stops it, sends nothing, and may get it again', async () => {
  await using server = await startServer();
  const head = headOf(server);
  const runs: string[] = [];
  const interruptions: string[] = [];
  await using worker = startWorker(server, async (job, { signal }) => {
    runs.push(job.leaseToken);
    if (job.attempt > 1) return 'second';
    await endless(signal).catch((error: JobInterrupted) => interruptions.push(error.why));
    return 'first';
  });
  const { id } = await head.jobs.create({ leaseMs: 5_000 });
  await until(async () => runs.length === 1);
  await head.jobs.release({ id }, { reason: 'give it to somebody else' });
  const job = await untilStatus(head, id, 'done');
  deepStrictEqual([job.result, job.attempts, interruptions], ['second', 2, ['lease_lost']]);
  strictEqual(new Set(runs).size, 2);
  strictEqual(await countOf(head, id, 'job.completed'), 1);
  strictEqual(worker.reported.length, 1);
});

test('a cancelled job stops through its heartbeat and ends as cancelled', async () => {
  await using server = await startServer();
  const head = headOf(server);
  await using _worker = startWorker(server, (_job, { signal }) => endless(signal));
  const { id } = await head.jobs.create({ leaseMs: 5_000 });
  await untilStatus(head, id, 'running');
  await head.jobs.cancel(id, { reason: 'not needed' });
  strictEqual((await untilStatus(head, id, 'failed')).state, 'cancelled');
});

test('a worker process that was stopped beyond its lease sends no result when it is back', async () => {
  await using server = await startServer({ leaseMs: 5_000, reaperIntervalMs: 50 });
  const head = headOf(server);
  // With one slot no call waits for work while it works: what the server hands to a frozen process has to expire again.
  await using frozen = runExample(EXAMPLE.replace('concurrency: 4', 'concurrency: 1'), {
    SPINE_BASE_URL: server.url,
    SPINE_TOKEN: server.tokens.left,
  });
  // Long enough to be seen running, and frozen before its end, on a busy machine too.
  const { id } = await head.jobs.create({ target: 'any', spec: { ms: 10_000 } });
  await untilStatus(head, id, 'running');
  frozen.process.kill('SIGSTOP');
  await untilStatus(head, id, 'queued');
  const right = { url: server.url, tokens: { ...server.tokens, left: server.tokens.right } };
  await using _other = startWorker(right, () => 'by the other');
  await untilStatus(head, id, 'done');
  frozen.process.kill('SIGCONT');
  await until(async () => frozen.output() !== '');
  // The next job shows that the one before it is behind it.
  const after = await head.jobs.create({ target: 'left-claw', spec: { ms: 1 } });
  await untilStatus(head, after.id, 'done');
  frozen.process.kill('SIGTERM');
  strictEqual(await frozen.ended, 0, frozen.output());
  match(frozen.output(), /JobInterrupted: The lease on this job was lost/);
  doesNotMatch(frozen.output(), /SpineApiError/, 'a result was sent and refused');
  const job = await head.jobs.get(id);
  deepStrictEqual([job.result, job.attempts], ['by the other', 2]);
  strictEqual(await countOf(head, id, 'job.completed'), 1);
});

test('SIGTERM lets running jobs end, gives back what takes too long, and takes nothing new', async () => {
  await using server = await startServer();
  const head = headOf(server);
  const few = EXAMPLE.replace('concurrency: 4,', 'concurrency: 2,\n  drainMs: 5_000,');
  const heard = "if (job.spec.ms < 1_000) await new Promise((heard) => process.once('SIGTERM', heard));";
  const code = few.replace('await sleep(job', `${heard}\n    $&`);
  ok(few !== EXAMPLE && code !== few);
  await using worker = runExample(code, { SPINE_BASE_URL: server.url, SPINE_TOKEN: server.tokens.left });
  const [short, long, never] = await head.jobs.createBatch([
    // It ends after the signal, however late that comes.
    { spec: { ms: 100 } },
    { spec: { ms: 60_000 } },
    { spec: { ms: 1 } },
  ]);
  ok(short && long && never);
  await untilStatus(head, short.id, 'running');
  await untilStatus(head, long.id, 'running');
  worker.process.kill('SIGTERM');
  strictEqual(await worker.ended, 0, worker.output());
  const jobs = await Promise.all([short, long, never].map(({ id }) => head.jobs.get(id)));
  deepStrictEqual(
    jobs.map(({ status, attempts }) => [status, attempts]),
    [
      ['done', 1],
      ['queued', 1],
      ['queued', 0],
    ],
  );
  strictEqual(jobs[1]?.releaseReason, 'The worker shut down.');
});

test('no job is done twice under one lease while answers are lost and the server is killed', async () => {
  await using server = await startServer({ leaseMs: 3_000, reaperIntervalMs: 100 });
  let requests = 0;
  await using proxy = await losingProxy(
    server.url,
    ({ method }) => method === 'POST' && ++requests % 7 === 0,
  );
  const head = new SpineClient({ baseUrl: proxy.url, token: server.tokens.head });
  const runs = new Map<string, number>();
  const handler: Handler = async ({ leaseToken, spec }) => {
    runs.set(leaseToken, (runs.get(leaseToken) ?? 0) + 1);
    await new Promise((resolve) => setTimeout(resolve, 10));
    return spec;
  };
  const ids = await Promise.all(
    Array.from({ length: 120 }, async (_, spec) => (await head.jobs.create({ target: 'any', spec })).id),
  );
  const direct = headOf(server);
  strictEqual((await direct.stats()).states.queued, ids.length, 'no create was doubled');
  {
    const viaProxy = { url: proxy.url, tokens: server.tokens };
    await using _one = startWorker(viaProxy, handler, { concurrency: 4 });
    await using _two = startWorker(viaProxy, handler, { concurrency: 4 });
    await until(async () => runs.size > 30);
    await server.restart();
    await until(async () => (await direct.stats()).states.done === ids.length);
  }
  deepStrictEqual(new Set(runs.values()), new Set([1]));
  for (const [spec, id] of ids.entries()) {
    strictEqual((await direct.jobs.get(id)).result, spec);
    strictEqual(await countOf(direct, id, 'job.completed'), 1);
  }
});

test('a handler asks for more time, uploads a file of its job, and handlers are chosen by type', async () => {
  await using server = await startServer();
  const head = headOf(server);
  const client = new SpineClient<{ draw: { spec: string; result: { file: string } } }>({
    baseUrl: server.url,
    token: server.tokens.left,
  });
  const leases: (string | null)[] = [];
  const worker = new Worker({
    client,
    waitMs: 1_000,
    handler: {
      draw: async (job, { needTime, upload }) => {
        leases.push(job.leaseUntil);
        await needTime(3_600_000);
        leases.push((await head.jobs.get(job.id)).leaseUntil);
        const { id } = await upload(job.spec, { filename: 'drawing.txt' });
        return { file: id };
      },
    },
  });
  const other = await head.jobs.create({ spec: 'nobody’s' });
  const { id } = await head.jobs.create({ type: 'draw', spec: 'a house' });
  const running = worker.run();
  const { result } = await untilStatus(head, id, 'done');
  await worker.stop();
  await running;
  const [claimed = '', granted = ''] = leases.map((until) => until ?? '');
  ok(Date.parse(granted) - Date.parse(claimed) > 3_000_000, `${claimed} to ${granted}`);
  const [file] = await head.jobs.blobs(id);
  strictEqual(file?.filename, 'drawing.txt');
  deepStrictEqual(result, { file: file.id });
  strictEqual((await head.jobs.get(other.id)).status, 'queued');
  await client.close();
});
