/** When workers ask, with a server and a clock of the test's own: no time passes. */

import { deepStrictEqual, strictEqual } from 'node:assert';
import { test, type TestContext } from 'node:test';
import { Caller } from '../../../src/client/caller.ts';
import type { Transport } from '../../../src/client/transport.ts';
import { demoRunner } from '../../../src/worker/sessions/demo-runner.ts';
import { thisProcess } from '../../../src/worker/service/predecessor.ts';
import { WorkerService } from '../../../src/worker/service/worker-service.ts';
import { rejection } from '../../../src/worker/time-limit.ts';
import { FakePlatform } from '../../client/support.ts';

const POLL_MS = 30_000;
const never = new AbortController().signal;

/** What each path is answered, with a status other than 200 where it is a number. */
type Answers = (path: string, isWaiting: boolean) => object | number;

/** A server without work: whoever waits for some waits on. */
const calm: Answers = (path) => {
  if (path === '/api/heartbeats/start')
    return { heartbeat: { metadata: {} }, staleMs: 90_000, heartbeatsFile: null, recovered: null };
  return path === '/jobs/claim' ? { jobs: [] } : { workers: {}, metadata: {} };
};

/** A worker that draws this number; gives the moments when it looks for its slot, and when it asks for work. */
function startWorker(t: TestContext, clock: FakePlatform, answers: Answers, random = 0) {
  const asked: number[] = [];
  const waited: number[] = [];
  const startedAt = clock.nowMs();
  const transport: Transport = {
    send: async ({ url, method, body, signal }) => {
      const { pathname } = new URL(url);
      const isWaiting = pathname === '/jobs/claim' && typeof body === 'string' && body.includes('waitMs');
      if (method === 'GET') asked.push(clock.nowMs() - startedAt);
      if (isWaiting) waited.push(clock.nowMs() - startedAt);
      const answer = answers(pathname, isWaiting);
      if (isWaiting && answer !== 503) return await rejection(signal, never);
      const status = typeof answer === 'number' ? answer : 200;
      const text = async (): Promise<string> => JSON.stringify(answer);
      return { status, header: () => null, text, body: (async function* () {})() };
    },
  };
  const platform = {
    nowMs: () => clock.nowMs(),
    after: (ms: number, task: () => void) => clock.after(ms, task),
    random: () => random,
    randomId: () => clock.randomId(),
    transport: async () => transport,
  };
  const service = new WorkerService({
    slot: 'slot-1',
    target: 'slot-1',
    runner: demoRunner,
    caller: new Caller({ baseUrl: 'http://server', token: 'x', retries: 0, timeoutMs: 30_000, platform }),
    platform,
    log: { info: () => undefined, warn: () => undefined },
    url: 'http://server',
    about: {},
    process: thisProcess('box'),
    wallMs: () => 0,
    defaultDir: null,
    capabilities: [],
    idleBeatMs: 30_000,
    workingBeatMs: 15_000,
    pollMs: POLL_MS,
    drainMs: 0,
    sessionTimeoutMs: 60_000,
    sessionTimeoutMaxMs: 60_000,
    onStarted: () => undefined,
  });
  const ended = service.run();
  t.after(async () => {
    service.stop();
    service.stop();
    await clock.advance(600_000);
    await ended;
  });
  return { asked, waited };
}

test('a server that is away is asked after 30, 60, 120, 240 and 300 seconds, and after 30 again once it has answered [WK-29]', async (t) => {
  const clock = new FakePlatform();
  let answers: Answers = () => 503;
  const { asked, waited } = startWorker(t, clock, (path, isWaiting) => answers(path, isWaiting));
  await clock.advance(1_051_000);
  deepStrictEqual(gapsOf(asked), [30, 60, 120, 240, 300, 300]);
  answers = calm;
  await clock.advance(300_000);
  strictEqual(waited.length, 1);
  // Its slot is taken by another, and the server goes away once more.
  const before = asked.length;
  answers = (path) => (path === '/api/heartbeats' && asked.length === before ? 409 : 503);
  await clock.advance(100_000);
  deepStrictEqual(gapsOf(asked.slice(before)), [30]);
});

test('twenty workers that are started together ask for work at moments of their own within five seconds [WK-29]', async (t) => {
  const clock = new FakePlatform();
  const shares = Array.from({ length: 20 }, (_, i) => i / 20);
  const workers = shares.map((share) => startWorker(t, clock, calm, share));
  await clock.advance(5_000);
  deepStrictEqual(
    workers.map(({ waited }) => waited),
    shares.map((share) => [5_000 * share]),
  );
});

function gapsOf(moments: readonly number[]): number[] {
  return moments.slice(1).map((atMs, i) => (atMs - (moments[i] ?? 0)) / 1_000);
}
