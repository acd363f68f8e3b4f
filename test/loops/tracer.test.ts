import assert from 'node:assert/strict';
import { test } from 'node:test';
import { otlp } from '../../src/channels/otlp.ts';
import { settle } from '../../src/engine/settling.ts';
import { Tracer } from '../../src/loops/tracer.ts';
import {
  claimed,
  create,
  DIALECTS,
  failed,
  finished,
  HEAD,
  onEvery,
  type Opened,
  worker,
} from '../support/engines.ts';
import { until } from '../support/clock.ts';
import { startServer } from '../support/server.ts';
import { type OtlpReceiver, otlpReceiver, type ReceivedSpan } from '../support/otlp.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';

const told: string[] = [];

function tracing(spine: Opened, { url }: OtlpReceiver, most?: number): Tracer {
  const options = { endpoint: `${url}/`, service: 'spine', version: '1', instance: 'one' };
  const send = otlp({ ...options, headers: { 'x-key': 'secret' } });
  const tracer = new Tracer(spine.engine.core, send, (why, spans) => told.push(`${spans}: ${why}`), most);
  spine.engine.core.watchers.push(tracer.watch);
  return tracer;
}

async function sent(tracer: Tracer): Promise<void> {
  while ((await tracer.runOnce()).more);
}

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan[] =>
  spans.filter((each) => each.name === name);

onEvery(DIALECTS, (each) => {
  each(
    'a job is one span with its queue waits and attempts, in the trace of its caller, retries linked [WK-39]',
    async (spine) => {
      await using receiver = await otlpReceiver();
      const tracer = tracing(spine, receiver);
      const job = await create(spine, { traceparent: `00-${TRACE}-${CALLER}-01`, maxAttempts: 2 });
      await spine.clock.advance(30);
      await failed(spine, job);
      await spine.clock.advance(20);
      const held = await claimed(spine, job);
      await spine.clock.advance(10);
      await spine.engine.leases.complete(worker('w'), job.id, held.leaseToken, null);
      await sent(tracer);
      assert.deepEqual(receiver.problems, []);
      assert.equal(receiver.requests[0]?.headers['x-key'], 'secret');
      const { spans } = receiver;
      assert.ok(spans.every(({ traceId }) => traceId === TRACE));
      assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, 5);
      const [whole] = named(spans, 'spine.job');
      assert.deepEqual([whole?.parentSpanId, whole?.status.code], [CALLER, 1]);
      const [first, second] = named(spans, 'spine.attempt');
      assert.deepEqual([first?.status.code, second?.status.code], [2, 1]);
      assert.deepEqual(
        second?.links.map(({ spanId }) => spanId),
        [first?.spanId],
      );
      assert.equal(named(spans, 'spine.queue').length, 2);
      for (const part of spans.filter((one) => one !== whole)) assert.equal(part.parentSpanId, whole?.spanId);
      const lengthMs = (one: ReceivedSpan | undefined): number =>
        Number((BigInt(one?.endTimeUnixNano ?? 0) - BigInt(one?.startTimeUnixNano ?? 0)) / 1_000_000n);
      assert.deepEqual([whole, second].map(lengthMs), [60, 10]);
      assert.deepEqual(tracer.status(), { sent: 5, dropped: 0 });
    },
  );

  each(
    'a lineage without a traceparent is one trace, each retry linked to what it retries',
    async (spine) => {
      await using receiver = await otlpReceiver();
      const tracer = tracing(spine, receiver);
      const job = await create(spine, { retry: { mode: 'lineage', max: 1, backoffMs: 0 }, tags: ['x'] });
      await failed(spine, job);
      await settle(spine.engine.core, [job.no]);
      const retry = (
        await spine.engine.jobs.list(HEAD, { states: ['queued'], order: 'newest', limit: 1 })
      )[0];
      assert.equal(retry?.retryOf, job.no);
      await finished(spine, retry);
      await sent(tracer);
      assert.equal(new Set(receiver.spans.map(({ traceId }) => traceId)).size, 1);
      const [failedJob, next] = named(receiver.spans, 'spine.job');
      assert.deepEqual(
        next?.links.map(({ spanId }) => spanId),
        [failedJob?.spanId],
      );
      assert.equal(next?.parentSpanId, undefined);
    },
  );

  each('a trace that its caller does not keep is not sent', async (spine) => {
    await using receiver = await otlpReceiver();
    const tracer = tracing(spine, receiver);
    await finished(spine, await create(spine, { traceparent: `00-${TRACE}-${CALLER}-00` }));
    await sent(tracer);
    assert.equal(receiver.requests.length, 0);
  });

  each('what a collector will never take is counted, and its reason is told [WK-39]', async (spine) => {
    await using receiver = await otlpReceiver();
    const tracer = tracing(spine, receiver);
    told.length = 0;
    receiver.mode = 'strict';
    await finished(spine, await create(spine));
    await sent(tracer);
    assert.deepEqual(tracer.status(), { sent: 0, dropped: 3 });
    receiver.mode = 'partial';
    await finished(spine, await create(spine));
    await sent(tracer);
    assert.deepEqual(tracer.status(), { sent: 2, dropped: 4 });
    assert.deepEqual(told, [
      '3: the OTLP collector answered 415: protobuf, please',
      '1: the OTLP collector rejected spans: too old',
    ]);
  });

  each(
    'a collector that refuses or never answers holds up nothing; what is too much is left out and counted [WK-39]',
    async (spine) => {
      await using receiver = await otlpReceiver();
      const tracer = tracing(spine, receiver, 6);
      receiver.mode = 'broken';
      await finished(spine, await create(spine));
      await assert.rejects(tracer.runOnce(), /the OTLP collector answered 503/);
      receiver.mode = 'silent';
      const hanging = tracer.runOnce();
      for (let i = 0; i < 3; i++) await finished(spine, await create(spine));
      tracer.callOff();
      await assert.rejects(hanging, /cannot reach the OTLP collector: ABORT_ERR/);
      // Three spans of each of four jobs, and room for six.
      assert.deepEqual(tracer.status(), { sent: 0, dropped: 6 });
    },
  );
});

test('a server whose collector takes no JSON says so in its log [WK-39]', async () => {
  await using receiver = await otlpReceiver();
  receiver.mode = 'strict';
  await using server = await startServer({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
    logLevel: 'warn',
  });
  const { body: job } = await server.head.post<{ id: string }>('/jobs', {});
  await server.head.post(`/jobs/${job.id}/cancel`, {});
  await until('the log says why', () => /collector answered 415: protobuf, please/.test(server.output()));
});

test('a server whose collector never answers goes on, and stops in good order [WK-39]', async () => {
  await using receiver = await otlpReceiver();
  receiver.mode = 'silent';
  await using server = await startServer({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url } });
  const { body: job } = await server.head.post<{ id: string }>('/jobs', {});
  const { body: held } = await server.left.post<{ leaseToken: string }>(`/jobs/${job.id}/claim`);
  await server.left.post(`/jobs/${job.id}/complete`, { leaseToken: held.leaseToken });
  await until('spans are on their way', () => receiver.requests.length > 0);
  assert.equal((await server.head.get(`/jobs/${job.id}`)).status, 200);
  const { text } = await server.head.get('/metrics');
  assert.match(text, /^spine_spans_sent_total 0$/m);
});
