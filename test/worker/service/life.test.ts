import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type WorkerToken, workerToken } from '../../../src/app/worker-token.ts';
import { thisProcess } from '../../../src/worker/service/predecessor.ts';
import { httpProxy } from '../../support/http-proxy.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import {
  heartbeatOf,
  linesOf,
  makeTask,
  PATIENT_SERVER,
  processesOf,
  shellSession,
  startWorker,
  taskOf,
  until,
  untilBeat,
  untilGone,
  untilTask,
} from '../../support/worker-process.ts';

suite('a worker with a slot, from its start to its end', () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ env: PATIENT_SERVER });
  });
  after(() => server.stop());

  test('without a slot it says how it is used and exits with 1 [WK-38]', async (t) => {
    const worker = startWorker(t, server, null);
    strictEqual(await worker.ended, 1);
    match(worker.output(), /Usage: spine worker <slot>/);
    const named = startWorker(t, server, null, { env: { SLOT_ID: 'by-name' } });
    await untilBeat(server, 'by-name', 'idle');
    named.kill('SIGTERM');
    strictEqual(await named.ended, 0);
  });

  test('its slot is idle at once, and the file says so too [WK-01 WK-02 WK-03 WK-04 WK-05 WK-08 WK-37]', async (t) => {
    const worker = startWorker(t, server, 'slot-start');
    const { lastUpdate, startedAt, metadata, ...beat } = await untilBeat(server, 'slot-start', 'idle');
    deepStrictEqual(beat, {
      slot: 'slot-start',
      status: 'idle',
      task: null,
      taskTitle: null,
      sessionId: null,
    });
    ok(Number.isInteger(lastUpdate) && Number.isInteger(startedAt));
    deepStrictEqual([metadata['workerPid'], metadata['restartCount']], [worker.pid, 0]);
    const file = join(server.dataDir, '.clawhub', 'worker-heartbeats.json');
    await until('the file', () => {
      const { workers } = JSON.parse(readFileSync(file, 'utf8')) as {
        workers: Record<string, { status: string }>;
      };
      return workers['slot-start']?.status === 'idle';
    });
    strictEqual(lstatSync(file).mode & 0o777, 0o600);
  });

  test('a worker links to the file from a folder of its own [WK-02]', async (t) => {
    startWorker(t, server, 'slot-link');
    await untilBeat(server, 'slot-link', 'idle');
    const file = join(server.dataDir, '.clawhub', 'worker-heartbeats.json');
    await until('the file', () => existsSync(file));
    const prepare = (folder: string): void => mkdirSync(join(folder, '.clawhub'));
    const { folder } = startWorker(t, server, 'slot-linked', { prepare });
    const link = join(folder, '.clawhub', 'worker-heartbeats.json');
    await until('the link', () => lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink());
    strictEqual(realpathSync(link), realpathSync(file));
  });

  test('it takes the best of its own tasks, the oldest first, one at a time [WK-10 WK-11 WK-28]', async (t) => {
    const slot = 'slot-order';
    const other = await makeTask(server, { title: 'other', owner: 'slot-other' });
    await makeTask(server, { title: 'finished', owner: slot, status: 'done' });
    await makeTask(server, { title: 'one', owner: slot, priority: 1 });
    await makeTask(server, { title: 'five-old', owner: slot, priority: 5 });
    // Whatever time a client names, its task is as old as it is here.
    const createdAt = '2020-01-01T00:00:00.000Z';
    await makeTask(server, { title: 'five', owner: slot, priority: 5, createdAt });
    for (const word of ['P3', 'P1', 'P0', 'P2'])
      await makeTask(server, { title: word, owner: slot, priority: word });
    const last = await makeTask(server, { title: 'none', owner: slot });
    const script =
      'grep "Task Title" | tee -a titles; if mkdir busy; then sleep 0.1; rmdir busy; else echo twice >> titles; fi';
    const worker = startWorker(t, server, slot, { args: shellSession(script) });
    await untilTask(server, last.id, 'done');
    const titles = linesOf(join(worker.folder, 'titles')).map((line) => line.split(': ')[1]);
    deepStrictEqual(titles, ['P0', 'P1', 'P2', 'five-old', 'five', 'one', 'P3', 'none']);
    strictEqual((await taskOf(server, other.id)).status, 'todo');
  });

  test('it does several at a time when told to, each in a slot of its own [WK-40]', async (t) => {
    const slot = 'slot-many';
    const tasks = await Promise.all([1, 2, 3].map((n) => makeTask(server, { title: `T${n}`, owner: slot })));
    const script = 'cat >/dev/null; echo x >> here; while [ ! -e go ]; do sleep 0.05; done; echo ok';
    const worker = startWorker(t, server, slot, { args: ['--concurrency', '3', ...shellSession(script)] });
    await until('all three run', () => linesOf(join(worker.folder, 'here')).length === 3);
    for (const name of [slot, `${slot}.2`, `${slot}.3`]) await untilBeat(server, name, 'working');
    mkdirSync(join(worker.folder, 'go'));
    for (const { id } of tasks) await untilTask(server, id, 'done');
  });

  test('it works with the slots that it gets, and with a further one when that is free [WK-28 WK-40]', async (t) => {
    const slot = 'slot-some';
    const other = startWorker(t, server, `${slot}.2`);
    await untilBeat(server, `${slot}.2`, 'idle');
    const args = ['--concurrency', '2', ...shellSession('cat >/dev/null; echo ok')];
    const worker = startWorker(t, server, slot, { args });
    await until('it stands by for one', () => worker.output().includes('Standing by'));
    const task = await makeTask(server, { title: 'all the same', owner: slot });
    await untilTask(server, task.id, 'done');
    other.kill('SIGTERM');
    await until(
      'it has both',
      async () => (await heartbeatOf(server, `${slot}.2`))?.metadata['workerPid'] === worker.pid,
    );
  });

  test('when told to stop it waits for its task, takes no other, and leaves with 0 [WK-27]', async (t) => {
    const slot = 'slot-stop';
    const task = await makeTask(server, { title: 'slow', owner: slot });
    const script = 'cat >/dev/null; while [ ! -e go ]; do sleep 0.05; done; echo done at last';
    const worker = startWorker(t, server, slot, { args: shellSession(script) });
    await untilBeat(server, slot, 'working');
    worker.kill('SIGTERM');
    const next = await makeTask(server, { title: 'next', owner: slot });
    await until('it stops', () => worker.output().includes('Stopping'));
    mkdirSync(join(worker.folder, 'go'));
    strictEqual(await worker.ended, 0);
    strictEqual((await taskOf(server, task.id)).status, 'done');
    strictEqual((await taskOf(server, next.id)).status, 'todo');
    const beat = await heartbeatOf(server, slot);
    deepStrictEqual([beat?.status, beat?.metadata['offlineReason']], ['offline', 'graceful-shutdown']);
  });

  test('a task that does not end in time goes back, and its session is gone [WK-27]', async (t) => {
    const slot = 'slot-drain';
    const task = await makeTask(server, { title: 'endless', owner: slot });
    const worker = startWorker(t, server, slot, {
      args: shellSession('cat >/dev/null; sleep 600 & sleep 600'),
      env: { SPINE_WORKER_DRAIN_MS: '200' },
    });
    const { sessionId } = await untilBeat(server, slot, 'working');
    await until('the session runs', () => processesOf(sessionId ?? '').length > 2);
    worker.kill('SIGTERM');
    strictEqual(await worker.ended, 0);
    await untilGone(sessionId ?? '');
    strictEqual((await taskOf(server, task.id)).status, 'todo');
  });

  test('a second signal does not wait any more, and cleans up all the same [WK-27]', async (t) => {
    const slot = 'slot-quick';
    const task = await makeTask(server, { title: 'endless', owner: slot });
    const worker = startWorker(t, server, slot, { args: shellSession('cat >/dev/null; sleep 600') });
    const { sessionId } = await untilBeat(server, slot, 'working');
    worker.kill('SIGTERM');
    await until('it stops', () => worker.output().includes('Stopping'));
    worker.kill('SIGINT');
    strictEqual(await worker.ended, 0);
    await untilGone(sessionId ?? '');
    strictEqual((await taskOf(server, task.id)).status, 'todo');
    strictEqual((await heartbeatOf(server, slot))?.status, 'offline');
  });

  test('twenty workers beat and stop at once, and none is lost [WK-06]', async (t) => {
    const names = Array.from({ length: 20 }, (_, i) => `many-${i + 1}`);
    const workers = names.map((name) => startWorker(t, server, name));
    for (const name of names) await untilBeat(server, name, 'idle');
    for (const worker of workers) worker.kill('SIGTERM');
    deepStrictEqual(await Promise.all(workers.map(({ ended }) => ended)), Array<number>(20).fill(0));
    for (const name of names) strictEqual((await heartbeatOf(server, name))?.status, 'offline', name);
  });

  test('a second process for the slot stands by, and takes over when the first has left [WK-28]', async (t) => {
    const slot = 'slot-twice';
    const script = 'cat >/dev/null; echo ran';
    const first = startWorker(t, server, slot, { args: shellSession(script) });
    await untilBeat(server, slot, 'idle');
    const second = startWorker(t, server, slot, { args: shellSession(script) });
    await until('it stands by', () => second.output().includes('Standing by'));
    const task = await makeTask(server, { title: 'once', owner: slot });
    strictEqual((await untilTask(server, task.id, 'done')).attempts, 1);
    first.kill('SIGTERM');
    await first.ended;
    await until(
      'it takes over',
      async () => (await heartbeatOf(server, slot))?.metadata['workerPid'] === second.pid,
    );
    const next = await makeTask(server, { title: 'again', owner: slot });
    await untilTask(server, next.id, 'done');
  });

  test('a worker that is drained takes nothing until it is let again [WK-39]', async (t) => {
    const slot = 'slot-drained';
    startWorker(t, server, slot);
    await untilBeat(server, slot, 'idle');
    await server.head.post(`/api/heartbeats/${slot}/drain`, {});
    const { lastUpdate } = await untilBeat(server, slot, 'idle');
    await until(
      'two beats',
      async () => ((await heartbeatOf(server, slot))?.lastUpdate ?? 0) > lastUpdate + 500,
    );
    const task = await makeTask(server, { title: 'later', owner: slot });
    const seen = (await heartbeatOf(server, slot))?.lastUpdate ?? 0;
    await until('two more', async () => ((await heartbeatOf(server, slot))?.lastUpdate ?? 0) > seen + 500);
    strictEqual((await taskOf(server, task.id)).status, 'todo');
    await server.head.post(`/api/heartbeats/${slot}/resume`, {});
    await untilTask(server, task.id, 'done');
  });

  test('a drained worker takes nothing with any of its slots, nor after a restart before its first heartbeat [WK-39 WK-40]', async (t) => {
    const slot = 'slot-drained-all';
    const args = ['--concurrency', '3', ...shellSession('cat >/dev/null; echo ok')];
    const names = [slot, `${slot}.2`, `${slot}.3`];
    const first = startWorker(t, server, slot, { args });
    for (const name of names) await untilBeat(server, name, 'idle');
    await server.head.post(`/api/heartbeats/${slot}/drain`, {});
    const drainedAt = (await Promise.all(names.map((name) => heartbeatOf(server, name)))).map(
      (beat) => beat?.lastUpdate ?? 0,
    );
    const beatenSince = (at: readonly number[]) =>
      until('all have beaten twice', async () => {
        const beats = await Promise.all(names.map((name) => heartbeatOf(server, name)));
        return beats.every((beat, i) => (beat?.lastUpdate ?? 0) > (at[i] ?? 0) + 400) ? beats : null;
      });
    const beats = await beatenSince(drainedAt);
    deepStrictEqual(
      beats.map((beat) => beat?.metadata['draining']),
      [true, true, true],
    );
    const task = await makeTask(server, { title: 'later', owner: slot });
    await beatenSince(beats.map((beat) => beat?.lastUpdate ?? 0));
    strictEqual((await taskOf(server, task.id)).status, 'todo');
    first.kill('SIGTERM');
    await first.ended;
    // Its first heartbeat would come long after its first claim.
    const proxy = await httpProxy(t, server.url);
    const second = startWorker(t, server, slot, {
      args,
      url: proxy.url,
      env: { SPINE_WORKER_IDLE_BEAT_MS: '20000', SPINE_WORKER_POLL_MS: '60' },
    });
    // Each asks once whether it may serve `any`; then it would ask for work.
    await until('it is there', () => second.output().split('The slot is ours').length > 3);
    await until('time passes', () => performance.now() - (proxy.calls.at(-1)?.atMs ?? Infinity) > 400);
    strictEqual((await taskOf(server, task.id)).status, 'todo');
    strictEqual(proxy.calls.filter(({ path }) => path === '/jobs/claim').length, 3);
  });

  test('a task is begun at once, however long a worker would wait between polls [WK-29 WK-45]', async (t) => {
    const slot = 'slot-at-once';
    const proxy = await httpProxy(t, server.url);
    startWorker(t, server, slot, { url: proxy.url, env: { SPINE_WORKER_POLL_MS: '12000' } });
    const calls = (end: string) => proxy.calls.filter(({ path }) => path.endsWith(end));
    await until('it waits for work', () => calls('/claim').length === 1);
    const task = await makeTask(server, { title: 'now', owner: slot });
    await untilTask(server, task.id, 'done');
    // The very claim that waited brought the task.
    const [ended] = calls('/complete');
    strictEqual(calls('/claim').filter(({ atMs }) => atMs < (ended?.atMs ?? 0)).length, 1);
  });

  test('workers of several machines share tasks of nobody, by what they can do [WK-44]', async (t) => {
    const token = async (name: string) => {
      const made = await server.head.post<{ token: string }>('/tokens', {
        name,
        role: 'worker',
        targets: [name, 'any'],
      });
      return made.body.token;
    };
    const args = (said: string) => shellSession(`cat >/dev/null; echo ${said}`);
    startWorker(t, server, 'plain-1', { token: await token('plain-1'), args: args('plain') });
    await untilBeat(server, 'plain-1', 'idle');
    const { body: job } = await server.head.post('/jobs', {
      target: 'any',
      title: 'Train',
      requires: ['gpu'],
    });
    startWorker(t, server, 'gpu-1', {
      token: await token('gpu-1'),
      args: ['--capability', 'gpu', ...args('with a gpu')],
    });
    const done = await untilTask(server, String(job['id']), 'done');
    strictEqual(done.result?.['text'], 'with a gpu\n');
    const { body: own } = await server.head.get(`/jobs/${String(job['id'])}`);
    strictEqual(own['claimedBy'], 'gpu-1');
  });

  test('the token of a worker outlives a worker for its slot in a container of the same name [WK-28 WK-44]', async () => {
    const inContainer = (id: string) => ({ ...thisProcess('box'), workerPlace: `boot /docker/${id}/hosts` });
    // As long as a slot may be called.
    const slot = 'slot-box'.padEnd(90, 'x');
    const make = (id: string) => workerToken(server.url, server.tokens.head, slot, inContainer(id));
    const isGood = async ({ token = '' }: WorkerToken) => {
      const authorization = `Bearer ${token}`;
      return (await fetch(`${server.url}/me`, { headers: { authorization } })).status === 200;
    };
    const [one, two] = [await make('one'), await make('two')];
    deepStrictEqual([await isGood(one), await isGood(two)], [true, true]);
    // The container was started again: its last process is gone, whatever number it had.
    const again = await make('one');
    deepStrictEqual([await isGood(one), await isGood(two), await isGood(again)], [false, true, true]);
    for (const token of [two, again]) await token.revoke();
    strictEqual(await isGood(two), false);
  });
});
