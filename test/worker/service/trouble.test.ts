import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { after, before, suite, test } from 'node:test';
import { loadConfig } from '../../../src/config.ts';
import { endWaitMs, jitterMs, pollWaitMs } from '../../../src/worker/service/backoff.ts';
import { httpProxy } from '../../support/http-proxy.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import {
  heartbeatOf,
  makeTask,
  shellSession,
  SHORT_SERVER,
  startWorker,
  taskOf,
  until,
  untilBeat,
  untilTask,
} from '../../support/worker-process.ts';

test('the constants are those of the text unless a setting says otherwise [WK-06 WK-07 WK-22 WK-29 WK-34]', () => {
  const config = loadConfig({});
  deepStrictEqual(
    [config.idleBeatMs, config.workingBeatMs, config.workerStaleMs, config.watchdogMs, config.workerPollMs],
    [30_000, 15_000, 90_000, 120_000, 30_000],
  );
  deepStrictEqual(
    [config.workerDrainMs, config.sessionPollMs, config.sessionTimeoutMs, config.sessionTimeoutMaxMs],
    [300_000, 15_000, 1_800_000, 7_200_000],
  );
});

test('failures are waited out in the steps of the text, with 0 to 5 seconds more [WK-29 WK-30]', () => {
  const waits = (random: number) =>
    [0, 1, 2, 3, 4, 5].map((failures) => pollWaitMs({ random: () => random }, 30_000, failures) / 1_000);
  deepStrictEqual(waits(0), [30, 60, 120, 240, 300, 300]);
  deepStrictEqual(waits(1), [35, 65, 125, 245, 305, 305]);
  strictEqual(jitterMs({ random: () => 0.5 }, 30_000), 2_500);
  deepStrictEqual([0, 1, 2, 3].map(endWaitMs), [1_000, 2_000, 4_000, 4_000]);
});

suite('workers whose server is in trouble', () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ env: SHORT_SERVER, reaperIntervalMs: 200 });
  });
  after(() => server.stop());

  test('a worker outlives a server that is down, asks less and less, and goes on [WK-29]', async (t) => {
    const proxy = await httpProxy(t, server.url);
    proxy.refuse = () => 503;
    const worker = startWorker(t, server, 'trouble-1', {
      url: proxy.url,
      env: { SPINE_WORKER_POLL_MS: '100' },
    });
    await until('six calls', () => proxy.calls.length >= 6);
    const gaps = proxy.calls.slice(1).map(({ atMs }, i) => atMs - (proxy.calls[i]?.atMs ?? 0));
    for (const [i, wanted] of [100, 200, 400, 800, 1_000].entries()) {
      const gap = gaps[i] ?? 0;
      ok(gap >= wanted - 5, `gap ${i}: ${gap} ms, less than ${wanted}`);
    }
    proxy.refuse = () => null;
    await untilBeat(server, 'trouble-1', 'idle');
    const task = await makeTask(server, { title: 'after all', owner: 'trouble-1' });
    await untilTask(server, task.id, 'done');
    worker.kill('SIGTERM');
    strictEqual(await worker.ended, 0);
  });

  test('the end of a task is sent again after 1 and 2 seconds, but not when it is refused, and the slot is at work until then [WK-30]', async (t) => {
    const proxy = await httpProxy(t, server.url);
    const ends = () => proxy.calls.filter(({ path }) => path.endsWith('/complete'));
    proxy.refuse = ({ path }) => (path.endsWith('/complete') && ends().length <= 2 ? 503 : null);
    const args = shellSession('cat >/dev/null; echo done');
    const task = await makeTask(server, { title: 'thrice', owner: 'trouble-2' });
    startWorker(t, server, 'trouble-2', { url: proxy.url, args });
    await until('its end was refused twice', () => ends().length === 2);
    // Whoever comes after a crash now finds the task.
    const { status, task: held } = (await heartbeatOf(server, 'trouble-2')) ?? {};
    deepStrictEqual([status, held], ['working', task.id]);
    await untilTask(server, task.id, 'done');
    await untilBeat(server, 'trouble-2', 'idle');
    const [first, second, third] = ends().map(({ atMs }) => atMs);
    const gaps = [(second ?? 0) - (first ?? 0), (third ?? 0) - (second ?? 0)];
    ok((gaps[0] ?? 0) >= 990, `${gaps[0]}`);
    ok((gaps[1] ?? 0) >= 1_990, `${gaps[1]}`);
    strictEqual(ends().length, 3);
    proxy.calls.length = 0;
    proxy.refuse = ({ path }) => (path.endsWith('/complete') ? 404 : null);
    const next = await makeTask(server, { title: 'once', owner: 'trouble-2' });
    await until('two ends', () => ends().length >= 2);
    // The second is that of the next attempt, after the lease of the first was over: one more try came after a second.
    const [one, other] = ends().map(({ atMs }) => atMs);
    ok((other ?? 0) - (one ?? 0) > 1_500, `${(other ?? 0) - (one ?? 0)} ms`);
    ok((await taskOf(server, next.id)).attempts >= 2);
  });
});

test('a hundred tasks are all there after a restart in the middle [WK-09]', async () => {
  await using server = await startServer({ env: SHORT_SERVER });
  for (let i = 0; i < 100; i += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => makeTask(server, { title: `Task ${i + n}`, owner: 'slot-1' })),
    );
  await server.restart();
  const { body } = await server.anyone.get<unknown[]>('/api/tasks');
  strictEqual(body.length, 100);
});

test('a server runs sessions for others, and ends them when it is told to [WK-14 WK-23 WK-36]', async () => {
  const command = JSON.stringify([
    '/bin/sh',
    '-c',
    'read line; case "$line" in hang) sleep 600;; esac; echo "did: $line"',
  ]);
  await using server = await startServer({ env: { ...SHORT_SERVER, SPINE_SESSION_COMMAND: command } });
  const spawn = (sessionLabel: string, prompt: string) =>
    server.anyone.post('/api/sessions/spawn', {
      sessionLabel,
      prompt,
      channel: 'internal',
      model: 'm',
      thinking: 'low',
      autoStart: true,
    });
  type Listed = { id: string; completed: boolean; error: string | null; status: string; jobId: string };
  const sessionOf = async (label: string) =>
    (await server.anyone.get<Listed[]>('/api/sessions')).body.find(({ id }) => id === label) ?? null;
  strictEqual((await spawn('one', 'hello')).status, 200);
  const one = await until('one', async () => ((await sessionOf('one'))?.completed ? sessionOf('one') : null));
  strictEqual(one?.error, null);
  const { body } = await server.head.get<{ logs: { text: string }[] }>(`/jobs/${one?.jobId}/logs`);
  deepStrictEqual(
    body.logs.map(({ text }) => text),
    ['did: hello'],
  );
  await spawn('two', 'hang');
  strictEqual((await spawn('two', 'again')).status, 409);
  await until('two runs', async () => (await sessionOf('two'))?.status === 'running');
  strictEqual((await server.anyone.request('DELETE', '/api/sessions/two')).status, 200);
  const two = await until('two is over', async () => {
    const found = await server.head.get(`/jobs/${(await sessionOf('two'))?.jobId}`);
    return found.body['state'] === 'cancelled' ? sessionOf('two') : null;
  });
  deepStrictEqual([two?.completed, two?.status], [false, 'terminated']);
});
