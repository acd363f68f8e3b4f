import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { until } from '../support/clock.ts';
import type { JobBody } from '../support/http.ts';
import { installed, INSTALLED_WITHIN_MS } from '../support/installed.ts';
import { otlpReceiver, type ReceivedSpan } from '../support/otlp.ts';
import { startServer } from '../support/server.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';

/** A type of the protocol's own definition, as OpenTelemetry compiles it. */
interface Message {
  fromObject(object: unknown): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, how: object): unknown;
}

const verifiers = await installed('verifiers');
const skip = 'missing' in verifiers ? verifiers.missing : false;

/** Its JSON has ids as hexadecimal digits, bytes elsewhere as base64; what is empty is as good as not there. */
function asProtobufJson(value: unknown, name = ''): unknown {
  if (typeof value === 'string')
    return /^(?:trace|span|parentSpan)Id$/.test(name) ? Buffer.from(value, 'hex').toString('base64') : value;
  if (Array.isArray(value)) return value.map((each) => asProtobufJson(each));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => !Array.isArray(each) || each.length > 0);
  return Object.fromEntries(entries.map(([key, each]) => [key, asProtobufJson(each, key)]));
}

/** What is left of a body after a way through the protocol's own definition, there and back. */
function throughOtlp(body: unknown): unknown {
  if ('missing' in verifiers) return null;
  const file = `${verifiers.modules}/@opentelemetry/otlp-transformer/build/src/generated/root.js`;
  const root = createRequire(import.meta.url)(file) as {
    opentelemetry: { proto: { collector: { trace: { v1: { ExportTraceServiceRequest: Message } } } } };
  };
  const { ExportTraceServiceRequest: request } = root.opentelemetry.proto.collector.trace.v1;
  const bytes = request.encode(request.fromObject(asProtobufJson(body))).finish();
  const decoded = request.toObject(request.decode(bytes), { longs: String, enums: Number, bytes: String });
  // Classes on the way; plain objects as they are compared.
  return JSON.parse(JSON.stringify(decoded));
}

test("a server's spans arrive as OpenTelemetry defines them: parent, waits, attempts and the retry [WK-39]", {
  skip,
  timeout: INSTALLED_WITHIN_MS,
}, async () => {
  await using receiver = await otlpReceiver();
  await using server = await startServer({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=two%20words,authorization=Basic%20YTpi',
      OTEL_SERVICE_NAME: 'claws of the house',
    },
  });
  const { head, left } = server;
  const headers = { traceparent: `00-${TRACE}-${CALLER}-01` };
  const { body: job } = await head.post<JobBody>('/jobs', { retry: { backoffMs: 0 } }, { headers });
  for (const end of ['fail', 'complete']) {
    const { body: held } = await left.post<JobBody>(`/jobs/${job.id}/claim`);
    const answer = await left.post(`/jobs/${job.id}/${end}`, { leaseToken: held.leaseToken });
    assert.equal(answer.status, 200);
  }
  const { spans, bodies, requests, problems } = receiver;
  await until('all spans are there', () => spans.some(({ name }) => name === 'spine.job'));
  assert.deepEqual(problems, []);
  for (const body of bodies) assert.deepEqual(throughOtlp(body), asProtobufJson(body));

  for (const request of requests) {
    assert.equal(request.headers['x-key'], 'two words');
    assert.equal(request.headers['authorization'], 'Basic YTpi');
  }
  assert.match(JSON.stringify(bodies[0]), /"service\.name","value":\{"stringValue":"claws of the house"\}/);

  assert.deepEqual(new Set(spans.map(({ traceId }) => traceId)), new Set([TRACE]));
  const named = (name: string): ReceivedSpan[] => spans.filter((each) => each.name === name);
  const [whole] = named('spine.job');
  const [failed, done] = named('spine.attempt');
  assert.deepEqual([whole?.parentSpanId, whole?.status.code], [CALLER, 1]);
  assert.deepEqual([failed?.status.code, done?.status.code, named('spine.attempt').length], [2, 1, 2]);
  assert.deepEqual(
    done?.links.map(({ spanId }) => spanId),
    [failed?.spanId],
  );
  assert.equal(named('spine.queue').length, 2);
  for (const one of [...named('spine.queue'), ...named('spine.attempt')])
    assert.equal(one.parentSpanId, whole?.spanId);
});
