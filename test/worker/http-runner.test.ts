/** Sessions of another server, as its answers let them look. */

import { deepStrictEqual, rejects, strictEqual } from 'node:assert';
import { test, type TestContext } from 'node:test';
import { nodePlatform } from '../../src/client/platform-node.ts';
import { HttpRunner } from '../../src/worker/sessions/http-runner.ts';
import type { Session, SessionOrder } from '../../src/worker/sessions/session.ts';
import { type Act, hastyPlatform, type Loopback, loopback, says } from '../client/support.ts';

const ORDER = { id: 'agent:main:worker-slot-1:x', timeoutMs: 1_800_000, askedMs: null } as SessionOrder;
const BEGUN: Act = says(200, {});
const SHOWN: Act = says(200, [{ id: ORDER.id }]);
const DONE: Act = says(200, [{ id: ORDER.id, completed: true, result: 'Painted.' }]);
const NOBODY: Act = says(200, []);

function runnerAt(t: TestContext, url: string): HttpRunner {
  const platform = { ...hastyPlatform(), transport: nodePlatform.transport };
  const runner = new HttpRunner({ platform, url, token: undefined, pollMs: 50 });
  t.after(() => runner.close());
  return runner;
}

async function begun(t: TestContext, url: string): Promise<Session> {
  const session = await runnerAt(t, url).begin(ORDER);
  session.ended.catch(() => undefined);
  t.after(() => session.kill().catch(() => undefined));
  return session;
}

test('a task waits while nobody could begin a session; one that alone is refused has failed [WK-24]', async (t) => {
  const { url } = await closedServer();
  await rejects(runnerAt(t, url).begin(ORDER), { name: 'PutOff', delayMs: 100 });
  for (const status of [401, 403, 429]) {
    await using server = await loopback(says(status, {}));
    await rejects(runnerAt(t, server.url).begin(ORDER), { name: 'PutOff' }, `${status}`);
  }
  await using stopping = await loopback(says(503, { error: 'shutting_down' }));
  await rejects(runnerAt(t, stopping.url).begin(ORDER), { name: 'PutOff' });
  await using strict = await loopback(says(400, {}));
  await rejects(runnerAt(t, strict.url).begin(ORDER), { message: /answered 400/, requeue: false });
  // It may have begun.
  await using broken = await loopback(says(500, {}));
  await rejects(runnerAt(t, broken.url).begin(ORDER), { name: 'SpineApiError' });
});

async function closedServer(): Promise<Loopback> {
  await using server = await loopback(NOBODY);
  return server;
}

test('a session that three looks miss may be at work all the same: nobody knows its end [WK-19 WK-23]', async (t) => {
  const looks = [SHOWN, NOBODY, NOBODY, NOBODY, says(404, {}), NOBODY, NOBODY];
  await using server = await loopback(BEGUN, ...looks, says(200, {}));
  const session = await begun(t, server.url);
  await rejects(session.ended, /vanished without a result/);
  await session.kill();
  deepStrictEqual(
    server.seen.slice(1).map(({ method }) => method),
    [...looks.map(() => 'GET'), 'DELETE'],
  );
});

test('a look that nobody answers misses nothing, also one for the name of a session [WK-18]', async (t) => {
  const away = says(503, {});
  const looks = [NOBODY, away, NOBODY, away, away, NOBODY, says(401, {}), NOBODY, away, DONE];
  await using server = await loopback(BEGUN, ...looks);
  strictEqual((await (await begun(t, server.url)).ended).text, 'Painted.');
});
