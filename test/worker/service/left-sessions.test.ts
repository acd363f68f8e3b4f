/** What a worker leaves running where its guardian has no hand: it is over before anybody begins its task again. */

import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test, type TestContext } from 'node:test';
import { Caller } from '../../../src/client/caller.ts';
import { systemPlatform } from '../../../src/client/platform.ts';
import { HttpRunner } from '../../../src/worker/sessions/http-runner.ts';
import { thisProcess } from '../../../src/worker/service/predecessor.ts';
import { WorkerService } from '../../../src/worker/service/worker-service.ts';
import { startStandIn } from '../../support/gateway/stand-in.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { type SessionServer, sessionServer } from '../../support/session-server.ts';
import {
  heartbeatOf,
  makeTask,
  SHORT_SERVER,
  startWorker,
  taskOf,
  until,
  untilBeat,
  untilTask,
} from '../../support/worker-process.ts';

const http = (url: string): readonly string[] => ['--runner', 'http', '--sessions-url', url];

/** What happened to a task and its sessions, in order. */
function watched(server: TestServer, sessions: SessionServer, id: string): string[] {
  const seen: string[] = [];
  sessions.onSpawn = async () => void seen.push('begun');
  sessions.onDelete = async () => {
    const { status, attempts } = await taskOf(server, id);
    seen.push(`ended while ${status}, after ${attempts}`);
  };
  return seen;
}

/** A worker that is killed with a session of another server at work. */
async function killed(t: TestContext, server: TestServer, sessions: SessionServer, slot: string) {
  const first = startWorker(t, server, slot, { args: http(sessions.url) });
  const { sessionId } = await untilBeat(server, slot, 'working');
  await until('the session', () => sessions.spawned.length > 0);
  first.kill('SIGKILL');
  await first.ended;
  return sessionId ?? '';
}

suite('sessions that outlive their worker', { concurrency: 3 }, () => {
  test('a restart ends the one of another server while its task is still held [WK-23 WK-32]', async (t) => {
    await using server = await startServer({ env: { ...SHORT_SERVER, SPINE_WORKER_STALE_MS: '20000' } });
    const sessions = await sessionServer(t);
    const task = await makeTask(server, { title: 'Elsewhere', owner: 'left-1' });
    const seen = watched(server, sessions, task.id);
    const left = await killed(t, server, sessions, 'left-1');
    startWorker(t, server, 'left-1', { args: http(sessions.url) });
    await until('the next session', () => sessions.spawned.length > 1);
    deepStrictEqual(seen, ['begun', 'ended while in-progress, after 1', 'begun']);
    deepStrictEqual(sessions.deleted, [left]);
  });

  test('a late restart ends it as well, after the watchdog has given its task back [WK-23 WK-32 WK-34]', async (t) => {
    await using server = await startServer({ env: SHORT_SERVER });
    const sessions = await sessionServer(t);
    const task = await makeTask(server, { title: 'Elsewhere', owner: 'left-2' });
    const seen = watched(server, sessions, task.id);
    const left = await killed(t, server, sessions, 'left-2');
    const { sessionId, metadata } = await untilBeat(server, 'left-2', 'offline');
    deepStrictEqual([sessionId, metadata['leftSession']], [null, left]);
    startWorker(t, server, 'left-2', { args: http(sessions.url) });
    await until('the next session', () => sessions.spawned.length > 1);
    deepStrictEqual(seen, ['begun', 'ended while todo, after 1', 'begun']);
    await untilBeat(server, 'left-2', 'working');
    strictEqual((await heartbeatOf(server, 'left-2'))?.metadata['leftSession'], undefined);
  });

  test('a worker of another machine ends it, although the reaper has given the task back [WK-23 WK-32 WK-44]', async (t) => {
    const env = { ...SHORT_SERVER, SPINE_WATCHDOG_MS: '600000' };
    await using server = await startServer({ env, reaperIntervalMs: 100 });
    const sessions = await sessionServer(t);
    const task = await makeTask(server, { title: 'Elsewhere', owner: 'left-3', metadata: { keep: 1 } });
    const seen = watched(server, sessions, task.id);
    const left = await killed(t, server, sessions, 'left-3');
    await untilTask(server, task.id, 'todo');
    strictEqual((await heartbeatOf(server, 'left-3'))?.status, 'working');
    await elsewhere(t, server, sessions, 'left-3');
    await until('the next session', () => sessions.spawned.length > 1);
    deepStrictEqual(seen, ['begun', 'ended while todo, after 1', 'begun']);
    const { keep, crashRecovery, previousSession } = (await taskOf(server, task.id)).metadata;
    deepStrictEqual([keep, crashRecovery, previousSession], [1, true, left]);
  });

  test('while it cannot be ended nothing is begun [WK-23 WK-32]', async (t) => {
    await using server = await startServer({ env: SHORT_SERVER });
    const sessions = await sessionServer(t);
    await makeTask(server, { title: 'Elsewhere', owner: 'left-4' });
    const left = await killed(t, server, sessions, 'left-4');
    await untilBeat(server, 'left-4', 'offline');
    let refusals = 0;
    sessions.onDelete = async () => {
      if (++refusals <= 4) throw new Error('not now');
    };
    const next = startWorker(t, server, 'left-4', { args: http(sessions.url) });
    await until('the next session', () => sessions.spawned.length > 1);
    deepStrictEqual(sessions.deleted, Array<string>(5).fill(left));
    ok(next.output().includes('The slot is ours'));
  });

  test('a session that cannot be ended keeps its task and its slot, and is left to the next process [WK-23 WK-27]', async (t) => {
    await using server = await startServer({ env: { ...SHORT_SERVER, SPINE_WORKER_STALE_MS: '20000' } });
    const sessions = await sessionServer(t);
    const task = await makeTask(server, { title: 'Elsewhere', owner: 'left-7', timeoutMs: 300 });
    await makeTask(server, { title: 'Next', owner: 'left-7' });
    let mayEnd = false;
    sessions.onDelete = async () => {
      if (!mayEnd) throw new Error('not now');
    };
    const worker = startWorker(t, server, 'left-7', { args: http(sessions.url) });
    await until('it tries for long', () => worker.output().includes('cannot be ended'));
    deepStrictEqual([(await taskOf(server, task.id)).status, sessions.spawned.length], ['in-progress', 1]);
    mayEnd = true;
    await untilTask(server, task.id, 'blocked');
    const { sessionId } = await until('the next', async () => {
      const beat = await heartbeatOf(server, 'left-7');
      return sessions.spawned.length === 2 && beat?.status === 'working' ? beat : null;
    });
    mayEnd = false;
    worker.kill('SIGTERM');
    await until('it stops', () => worker.output().includes('Stopping'));
    worker.kill('SIGTERM');
    strictEqual(await worker.ended, 0);
    const beat = await heartbeatOf(server, 'left-7');
    deepStrictEqual(
      [beat?.status, beat?.sessionId, beat?.metadata['leftSession']],
      ['offline', null, sessionId],
    );
    const other = startWorker(t, server, 'left-7');
    await until('it says why it waits', () => other.output().includes('worked with --runner http'));
    strictEqual((await heartbeatOf(server, 'left-7'))?.status, 'offline');
  });

  for (const [who, env, reaperIntervalMs] of [
    ['the watchdog', SHORT_SERVER, 600_000],
    ['the reaper', { ...SHORT_SERVER, SPINE_WATCHDOG_MS: '600000' }, 100],
  ] as const) {
    test(`${who} ends a session of its own server before the task is anybody else's [WK-23 WK-34]`, async (t) => {
      const command = ['/bin/sh', '-c', 'cat >/dev/null; echo begun; sleep 600'];
      await using server = await startServer({
        env: { ...env, SPINE_SESSION_COMMAND: JSON.stringify(command) },
        reaperIntervalMs,
      });
      const task = await makeTask(server, { title: 'Here', owner: 'left-5' });
      const worker = startWorker(t, server, 'left-5', { args: http(server.url) });
      await untilBeat(server, 'left-5', 'working');
      const session = await until('it runs', async () => {
        const [found] = (await server.anyone.get<{ status: string; jobId: string }[]>('/api/sessions')).body;
        return found?.status === 'running' ? found : null;
      });
      worker.kill('SIGKILL');
      await untilTask(server, task.id, 'todo');
      const endedMs = await momentOf(server, session.jobId, 'job.cancelled');
      const backMs = await momentOf(server, task.id, 'job.expired');
      ok(endedMs <= backMs, `the session ended ${endedMs - backMs} ms after its task was given back`);
    });

    test(`${who} ends a turn at the server's gateway before the task is anybody else's [WK-23 WK-34]`, async (t) => {
      const token = 'gateway-token-of-both';
      const gateway = await startStandIn({ token });
      t.after(() => gateway.stop());
      gateway.state.plan = () => ({ hang: true });
      const access = { OPENCLAW_GATEWAY_URL: gateway.url, OPENCLAW_GATEWAY_TOKEN: token };
      await using server = await startServer({
        env: { ...env, ...access, SPINE_GATEWAY: 'on' },
        reaperIntervalMs,
      });
      const task = await makeTask(server, { title: 'At a gateway', owner: 'left-6' });
      const worker = startWorker(t, server, 'left-6', { args: ['--runner', 'gateway'], env: access });
      await untilBeat(server, 'left-6', 'working');
      const turn = await until('the turn', () => gateway.state.runs.runs[0]);
      worker.kill('SIGKILL');
      await untilTask(server, task.id, 'todo');
      strictEqual(turn.end?.status, 'killed');
    });
  }
});

async function momentOf(server: TestServer, id: string, kind: string): Promise<number> {
  const { body } = await server.head.get<{ events: { type: string; t: string }[] }>(`/jobs/${id}/events`);
  const found = body.events.find(({ type }) => type === kind);
  ok(found, `${kind} in ${JSON.stringify(body.events.map(({ type }) => type))}`);
  return Date.parse(found.t);
}

/** A worker as another machine would run it: of the processes here it knows nothing. */
async function elsewhere(t: TestContext, server: TestServer, sessions: SessionServer, slot: string) {
  const platform = systemPlatform;
  const made = await server.head.post<{ token: string }>('/tokens', {
    name: slot,
    role: 'worker',
    targets: [slot],
  });
  const { token } = made.body;
  const caller = new Caller({ baseUrl: server.url, token, retries: 0, timeoutMs: 5_000, platform });
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const service = new WorkerService({
    slot,
    target: slot,
    runner: new HttpRunner({ platform, url: sessions.url, token: undefined, pollMs: 50 }),
    caller,
    platform,
    log,
    url: server.url,
    about: {},
    process: thisProcess('another-machine'),
    wallMs: () => Date.now(),
    defaultDir: null,
    capabilities: [],
    idleBeatMs: 300,
    workingBeatMs: 150,
    pollMs: 300,
    drainMs: 0,
    sessionTimeoutMs: 60_000,
    sessionTimeoutMaxMs: 60_000,
    onStarted: () => undefined,
  });
  const ended = service.run();
  t.after(async () => {
    service.stop();
    await ended;
    await caller.close();
  });
}
