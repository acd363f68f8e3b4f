/** Sessions of another server, as its answers let them look. */

import { rejects } from 'node:assert';
import { test, type TestContext } from 'node:test';
import { nodePlatform } from '../../src/client/platform-node.ts';
import { HttpRunner } from '../../src/worker/sessions/http-runner.ts';
import type { SessionOrder } from '../../src/worker/sessions/session.ts';
import { type Act, hastyPlatform, type Loopback, loopback, says } from '../client/support.ts';

const ORDER = { id: 'agent:main:worker-slot-1:x', timeoutMs: 1_800_000, askedMs: null } as SessionOrder;
const NOBODY: Act = says(200, []);

function runnerAt(t: TestContext, url: string): HttpRunner {
  const platform = { ...hastyPlatform(), transport: nodePlatform.transport };
  const runner = new HttpRunner({ platform, url, token: undefined, pollMs: 50 });
  t.after(() => runner.close());
  return runner;
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
