import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { startServer, type TestServer } from '../../support/server.ts';
import {
  heartbeatOf,
  makeTask,
  PATIENT_SERVER,
  processesOf,
  shellSession,
  SHORT_SERVER,
  startWorker,
  taskOf,
  until,
  untilBeat,
  untilGone,
  untilTask,
} from '../../support/worker-process.ts';

/** Begins, and goes on until somebody lets it end; what it starts is in its group, and out of it. */
const HANGS =
  'cat >/dev/null; echo begun; sleep 600 & setsid sh -c "echo away > away; exec sleep 600" & while [ ! -e go ]; do sleep 0.05; done; echo ended';

suite('workers that die, freeze and come back', () => {
  let server: TestServer;
  /** Takes a worker for dead that is silent for a moment. */
  let hasty: TestServer;
  before(async () => {
    [server, hasty] = await Promise.all([
      startServer({ env: PATIENT_SERVER }),
      startServer({ env: SHORT_SERVER }),
    ]);
  });
  after(() => Promise.all([server.stop(), hasty.stop()]));

  test('after kill -9 a restart finds the session gone and the task back, with what it knew [WK-32 WK-33]', async (t) => {
    const slot = 'crash-1';
    const task = await makeTask(server, { title: 'hard', owner: slot, metadata: { keep: 'me' } });
    const first = startWorker(t, server, slot, { args: shellSession(HANGS) });
    const { sessionId } = await untilBeat(server, slot, 'working');
    await until('the session runs', () => processesOf(sessionId ?? '').length > 2);
    first.kill('SIGKILL');
    await first.ended;
    await untilGone(sessionId ?? '');
    const second = startWorker(t, server, slot, { args: shellSession('cat >/dev/null; echo done') });
    const done = await untilTask(server, task.id, 'done');
    const { keep, crashRecovery, previousSession, recoveredAt } = done.metadata;
    deepStrictEqual([keep, crashRecovery, previousSession], ['me', true, sessionId]);
    ok(Number.isInteger(recoveredAt));
    strictEqual(done.attempts, 2);
    const beat = await heartbeatOf(server, slot);
    deepStrictEqual([beat?.metadata['restartCount'], beat?.metadata['workerPid']], [1, second.pid]);
  });

  test('what had ended meanwhile stays as it is [WK-32]', async (t) => {
    const slot = 'crash-2';
    const task = await makeTask(server, { title: 'finished', owner: slot });
    const first = startWorker(t, server, slot, { args: shellSession(HANGS) });
    await untilBeat(server, slot, 'working');
    first.kill('SIGSTOP');
    await server.anyone.request('PATCH', `/api/tasks/${task.id}`, { body: { status: 'review' } });
    first.kill('SIGKILL');
    await first.ended;
    startWorker(t, server, slot, { args: shellSession('cat >/dev/null; echo done') });
    await untilBeat(server, slot, 'idle');
    const now = await taskOf(server, task.id);
    deepStrictEqual([now.status, now.metadata['crashRecovery'], now.attempts], ['review', undefined, 1]);
  });

  test('without a restart the watchdog finds it, and resets its task once [WK-07 WK-34]', async (t) => {
    const slot = 'crash-3';
    const task = await makeTask(hasty, { title: 'lost', owner: slot });
    const worker = startWorker(t, hasty, slot, { args: shellSession(HANGS) });
    const { sessionId } = await untilBeat(hasty, slot, 'working');
    await until('one has left its group', () => existsSync(join(worker.folder, 'away')));
    worker.kill('SIGKILL');
    await untilGone(sessionId ?? '');
    const beat = await untilBeat(hasty, slot, 'offline');
    deepStrictEqual([beat.task, beat.metadata['offlineReason']], [null, 'stale-heartbeat']);
    ok(Number.isInteger(beat.metadata['detectedAt']));
    const back = await untilTask(hasty, task.id, 'todo');
    // Many passes later nothing has moved.
    const other = startWorker(t, hasty, 'crash-3-other');
    await until('time passes', async () => {
      const seen = await heartbeatOf(hasty, 'crash-3-other');
      return seen !== null && seen.lastUpdate - seen.startedAt > 1_500;
    });
    other.kill('SIGTERM');
    strictEqual((await taskOf(hasty, task.id)).updatedAt, back.updatedAt);
  });

  test('one that was frozen notices, ends its session and writes nothing over the next one [WK-34]', async (t) => {
    const slot = 'crash-4';
    const task = await makeTask(hasty, { title: 'frozen', owner: slot });
    const first = startWorker(t, hasty, slot, { args: shellSession(HANGS) });
    const { sessionId } = await untilBeat(hasty, slot, 'working');
    await until('the session runs', () => processesOf(sessionId ?? '').length > 2);
    first.kill('SIGSTOP');
    // Its guardian hears nothing any more, and ends it before anybody else can begin.
    await untilGone(sessionId ?? '');
    const second = startWorker(t, hasty, slot, { args: shellSession(HANGS) });
    const taken = await until('the second has it', async () => {
      const beat = await heartbeatOf(hasty, slot);
      return beat?.metadata['workerPid'] === second.pid && beat.status === 'working' ? beat : null;
    });
    strictEqual(taken.task, task.id);
    first.kill('SIGCONT');
    await until('the first notices', () =>
      /A lease is over|Another process has the slot/.test(first.output()),
    );
    mkdirSync(join(second.folder, 'go'));
    const done = await untilTask(hasty, task.id, 'done');
    strictEqual(done.attempts, 2);
    ok(String(done.result?.['sessionId']).startsWith(`agent:main:worker-${slot}:`));
    ok(done.result?.['sessionId'] !== sessionId);
    strictEqual((await heartbeatOf(hasty, slot))?.metadata['workerPid'], second.pid);
  });

  test('a session that leaves its process group is ended all the same [WK-23]', async (t) => {
    const slot = 'crash-5';
    const task = await makeTask(server, { title: 'runaway', owner: slot, timeoutMs: 8_000 });
    const script = 'cat >/dev/null; setsid sleep 600 & echo away > away; sleep 600';
    const worker = startWorker(t, server, slot, { args: shellSession(script) });
    const { sessionId } = await untilBeat(server, slot, 'working');
    await until('it left', () => existsSync(join(worker.folder, 'away')));
    const blocked = await untilTask(server, task.id, 'blocked');
    strictEqual(blocked.metadata['errorReason'], 'Session timeout exceeded');
    await untilGone(sessionId ?? '');
  });

  test('what a session leaves behind has ended before its task is done, in its group or out of it [WK-20 WK-23]', async (t) => {
    const slot = 'crash-7';
    const task = await makeTask(server, { title: 'untidy', owner: slot });
    const script = `cat >/dev/null; setsid sh -c 'trap "" TERM; echo away > away; exec sleep 600' & sleep 600 &
      until test -f away; do sleep 0.05; done; echo done`;
    startWorker(t, server, slot, { args: shellSession(script) });
    const { result } = await untilTask(server, task.id, 'done');
    deepStrictEqual(processesOf(String(result?.['sessionId'])), []);
  });

  test('after many crashes the counter is right, and every task was done once [WK-33]', async (t) => {
    const slot = 'crash-6';
    const tasks = [];
    for (let i = 0; i < 5; i++) tasks.push(await makeTask(server, { title: `T${i}`, owner: slot }));
    const script = 'cat >/dev/null; sleep 0.2; echo done';
    const rounds = 8;
    for (let round = 0; round < rounds; round++) {
      const worker = startWorker(t, server, slot, { args: shellSession(script) });
      await until(
        'it is there',
        async () => (await heartbeatOf(server, slot))?.metadata['workerPid'] === worker.pid,
      );
      if (round === rounds - 1) break;
      worker.kill('SIGKILL');
      await worker.ended;
    }
    for (const { id } of tasks) {
      await untilTask(server, id, 'done');
      const { body } = await server.head.get<{ events: { type: string }[] }>(`/jobs/${id}/events`);
      strictEqual(body.events.filter(({ type }) => type === 'job.completed').length, 1);
    }
    strictEqual((await heartbeatOf(server, slot))?.metadata['restartCount'], rounds - 1);
  });
});
