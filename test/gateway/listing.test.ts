import { deepStrictEqual, strictEqual } from 'node:assert';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type Activity, openGateway } from '../../src/gateway/gateway.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { KEY, refOf, TURN } from './support.ts';

/** What a chat-only gateway with this answer to sessions_list shows of the turn. */
async function shown(t: TestContext, status: number, answer: string): Promise<Activity> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(request.url === '/tools/invoke' ? status : 200);
    response.end(request.url === '/tools/invoke' ? answer : '{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = {
    name: 'odd',
    url,
    token: null,
    hookToken: null,
    cli: 'openclaw',
    cliEnv: {},
    clock: systemClock(),
  };
  const gateway = openGateway(options);
  t.after(() => gateway.close());
  return gateway.activity(refOf(TURN, 'chat'));
}

const row = { key: KEY, updatedAt: 17 };

for (const [shape, answer] of [
  ['result.details.sessions', { ok: true, result: { details: { sessions: [row] } } }],
  ['result.sessions', { ok: true, result: { sessions: [row] } }],
  ['sessions', { sessions: [row] }],
  ['an array', [row]],
  ['an array in result', { result: [row] }],
  ['sessionKey instead of key', { sessions: [{ sessionKey: KEY, updatedAt: 17 }] }],
] as const) {
  test(`a list of sessions is understood as ${shape} [SC-09]`, async (t) => {
    deepStrictEqual(await shown(t, 200, JSON.stringify(answer)), {
      status: 'running',
      mark: '17',
      tool: null,
    });
  });
}

test('a time in words is a mark as well', async (t) => {
  const sessions = [{ key: KEY, updatedAt: '2026-02-01T10:00:00Z' }];
  strictEqual((await shown(t, 200, JSON.stringify({ sessions }))).mark, '"2026-02-01T10:00:00Z"');
});

test('an empty list means that the session is not there', async (t) => {
  strictEqual((await shown(t, 200, '{"sessions":[]}')).status, 'absent');
});

for (const [status, answer] of [
  [500, '{"error":{"message":"internal error","type":"api_error"}}'],
  [200, ''],
  [200, 'null'],
  [200, '"sessions"'],
  [200, '{"ok":true,"result":{"content":[]}}'],
  [200, '{"sessions":{"key":1}}'],
  [404, 'Not Found'],
] as const) {
  test(`${status} ${answer.slice(0, 30) || 'and nothing'} is no list of sessions`, async (t) => {
    strictEqual((await shown(t, status, answer)).status, 'unknown');
  });
}

test('rows of another kind are passed over', async (t) => {
  const sessions = [null, 5, 'x', {}, { key: 7 }, row];
  strictEqual((await shown(t, 200, JSON.stringify({ sessions }))).mark, '17');
});
