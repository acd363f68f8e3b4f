import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Handler, JobFailure, PutOff, SpineClient, Worker } from '../../src/client/index.ts';
import { startServer } from '../support/server.ts';
import { until } from '../client/support.ts';

test('a worker on another machine can say how its job failed, and put one off', async () => {
  await using server = await startServer();
  const head = new SpineClient({ baseUrl: server.url, token: server.tokens.head });
  const left = new SpineClient({ baseUrl: server.url, token: server.tokens.left });
  const handler: Handler = ({ spec }) => {
    if (spec === 'fails') throw new JobFailure('silent', { details: { seen: 3 }, cause: 'stale' });
    throw new PutOff(60_000, 'not now');
  };
  const worker = new Worker({ client: left, handler, waitMs: 1_000 });
  const whole = worker.run();
  const failing = await head.jobs.create({ spec: 'fails', retry: { mode: 'lineage', max: 0 } });
  const waiting = await head.jobs.create({ spec: 'waits', maxAttempts: 1 });
  const failed = await until(async () => {
    const job = await head.jobs.get(failing.id);
    return job.state === 'dead' && job;
  });
  assert.deepEqual(failed.error, { message: 'silent', seen: 3 });
  const later = await until(async () => {
    const job = await head.jobs.get(waiting.id);
    return job.state === 'scheduled' && job;
  });
  assert.equal(later.attempts, 0);
  // On the server's clock, which need not be ours.
  const putOffMs = Date.parse(later.runAt ?? '') - Date.parse(later.updatedAt);
  assert.ok(putOffMs > 55_000 && putOffMs < 65_000, `${putOffMs}`);
  const logs: string[] = [];
  for await (const { text } of head.jobs.logs(waiting.id)) logs.push(text);
  assert.deepEqual(logs, ['Put off: not now']);
  await worker.stop();
  await whole;
  await Promise.all([head.close(), left.close()]);
});

test('the cause of a failure is one of three words', async () => {
  await using server = await startServer();
  const head = new SpineClient({ baseUrl: server.url, token: server.tokens.head });
  const left = new SpineClient({ baseUrl: server.url, token: server.tokens.left });
  const { id } = await head.jobs.create({});
  const job = await left.jobs.claim(id);
  const wrong = left.jobs.fail(job, { cause: 'tired' as 'stale' });
  await assert.rejects(wrong, { code: 'bad_request', status: 400 });
  const failed = await left.jobs.fail(job, { cause: 'timeout', requeue: false });
  assert.deepEqual([failed.state, failed.cause], ['failed', 'timeout']);
  await Promise.all([head.close(), left.close()]);
});
