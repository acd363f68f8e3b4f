/** A collector of OTLP over HTTP in JSON, as strict as the protocol's definition: what it does not know it refuses. */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number };
}

export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Why something was refused. */
  readonly problems: string[];
  readonly requests: { readonly headers: Readonly<Record<string, unknown>> }[];
  /** What was taken, as it came. */
  readonly bodies: unknown[];
  /** `silent` takes requests and never answers; `strict` knows no JSON, and `partial` rejects one span of each request. */
  mode: 'takes' | 'silent' | 'broken' | 'strict' | 'partial';
}

export async function otlpReceiver(): Promise<OtlpReceiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      receiver.requests.push({ headers: request.headers });
      if (receiver.mode === 'silent') return;
      if (receiver.mode === 'broken') return void response.writeHead(503).end();
      if (receiver.mode === 'strict')
        return void response.writeHead(415).end('{"message":"protobuf, please"}');
      try {
        assert.equal(request.method, 'POST');
        assert.equal(request.url, '/v1/traces');
        assert.equal(request.headers['content-type'], 'application/json');
        const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
        receiver.spans.push(...spansIn(body));
        receiver.bodies.push(body);
        const partial = receiver.mode === 'partial' ? { rejectedSpans: '1', errorMessage: 'too old' } : {};
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ partialSuccess: partial }));
      } catch (error) {
        receiver.problems.push(String(error));
        response.writeHead(400).end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    problems: [],
    requests: [],
    bodies: [],
    mode: 'takes',
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

function spansIn(body: unknown): ReceivedSpan[] {
  const { resourceSpans } = only(body, ['resourceSpans']);
  return list(resourceSpans).flatMap((each) => {
    const { resource, scopeSpans } = only(each, ['resource', 'scopeSpans']);
    const named = attributes(only(resource, ['attributes'])['attributes']);
    assert.ok(named.has('service.name'), 'the resource has no service.name');
    return list(scopeSpans).flatMap((one) => {
      const { scope, spans } = only(one, ['scope', 'spans']);
      only(scope, ['name', 'version']);
      return list(spans).map(span);
    });
  });
}

const SPAN = [
  'traceId',
  'spanId',
  'parentSpanId',
  'name',
  'kind',
  'startTimeUnixNano',
  'endTimeUnixNano',
  'attributes',
  'links',
  'status',
];

function span(value: unknown): ReceivedSpan {
  const each = only(value, SPAN);
  id(each['traceId'], 32);
  id(each['spanId'], 16);
  if (each['parentSpanId'] !== undefined) id(each['parentSpanId'], 16);
  assert.ok(typeof each['name'] === 'string' && each['name'] !== '');
  assert.ok([1, 2, 3, 4, 5].includes(each['kind'] as number), 'kind');
  for (const name of ['startTimeUnixNano', 'endTimeUnixNano'] as const) {
    assert.ok(typeof each[name] === 'string', `${name} must be a text`);
    assert.match(each[name], /^\d{19}$/);
  }
  assert.ok(BigInt(String(each['endTimeUnixNano'])) >= BigInt(String(each['startTimeUnixNano'])));
  attributes(each['attributes']);
  for (const link of list(each['links'])) {
    const { traceId, spanId } = only(link, ['traceId', 'spanId']);
    id(traceId, 32);
    id(spanId, 16);
  }
  const { code } = only(each['status'], ['code', 'message']);
  assert.ok(code === undefined || code === 1 || code === 2, 'status.code');
  return value as ReceivedSpan;
}

function attributes(value: unknown): Set<string> {
  const keys = new Set<string>();
  for (const each of list(value)) {
    const { key, value: said } = only(each, ['key', 'value']);
    assert.ok(typeof key === 'string' && key !== '' && !keys.has(key), `key ${String(key)}`);
    keys.add(key);
    const entries = Object.entries(only(said, ['stringValue', 'intValue', 'boolValue', 'doubleValue']));
    assert.equal(entries.length, 1);
    const [[kind, of] = []] = entries;
    if (kind === 'stringValue') assert.equal(typeof of, 'string');
    // A whole number of 64 bits is a text in JSON.
    if (kind === 'intValue') assert.match(String(of), /^-?\d+$/);
    if (kind === 'intValue') assert.equal(typeof of, 'string');
  }
  return keys;
}

function id(value: unknown, digits: number): void {
  assert.ok(
    typeof value === 'string' && new RegExp(`^[0-9a-f]{${digits}}$`).test(value),
    `id ${String(value)}`,
  );
  assert.doesNotMatch(value, /^0+$/);
}

function only(value: unknown, names: readonly string[]): Record<string, unknown> {
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value));
  for (const name of Object.keys(value)) assert.ok(names.includes(name), `${name} is not known`);
  return value as Record<string, unknown>;
}

function list(value: unknown): unknown[] {
  assert.ok(Array.isArray(value));
  return value;
}
