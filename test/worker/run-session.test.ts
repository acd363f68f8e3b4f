/** A session and the lease of its job: whatever ends first, the session is over before anybody else may begin. */

import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { JobFailure, JobInterrupted, PutOff } from '../../src/client/errors.ts';
import { HeldLease } from '../../src/client/held-lease.ts';
import { runSession, type SessionHost } from '../../src/worker/sessions/run-session.ts';
import { SpawnedSessions } from '../../src/worker/spawned-sessions.ts';
import type { Session, SessionOrder, SessionRunner } from '../../src/worker/sessions/session.ts';
import { refusal } from '../client/fake-jobs.ts';
import { claimedJob, FakePlatform, iso } from '../client/support.ts';
import { heldLease } from './fixtures.ts';

const LEASE_MS = 90_000;
const never = new Promise<never>(() => undefined);

interface Options {
  /** What heartbeats are answered. */
  readonly beat?: () => Promise<never>;
  readonly endedByAgent?: () => Promise<boolean>;
  /** How often the session cannot be ended. */
  readonly stuck?: number;
  readonly begin?: () => Promise<Session>;
  readonly timeoutMs?: number;
}

/** A session that never ends by itself, under a real lease. */
async function setUp(options: Options = {}) {
  const platform = new FakePlatform();
  const startedAt = platform.nowMs();
  const at = (): number => platform.nowMs() - startedAt;
  const seen: string[] = [];
  let failures = options.stuck ?? 0;
  const end = async (): Promise<void> => {
    if (failures-- > 0) throw new Error('It is at work still.');
    seen.push(`ended at ${at()}`);
  };
  const runner: SessionRunner = {
    name: 'http',
    hasEnvironment: false,
    begin: options.begin ?? (async () => ({ ended: never, kill: end })),
    endLeftover: end,
  };
  const over = new AbortController();
  const host: SessionHost = {
    platform,
    runner,
    endedByAgent: options.endedByAgent ?? (() => never),
    over: over.signal,
    onStuck: (isStuck) => void seen.push(`${isStuck ? 'stuck' : 'free'} at ${at()}`),
  };
  const job = claimedJob({ leaseMs: LEASE_MS, leaseUntil: iso(LEASE_MS) });
  const lease = new HeldLease(
    { platform, report: () => undefined, jobs: { heartbeat: options.beat ?? (() => never) } },
    job,
    platform.nowMs(),
  );
  await lease.begin();
  const order = { id: 's', timeoutMs: options.timeoutMs ?? 1_800_000 } as SessionOrder;
  const left = new AbortController();
  const context = { signal: lease.signal, log: () => undefined, endedItself: () => left.signal };
  const run = runSession(host, order, context).then(
    () => null,
    (error: unknown) => error,
  );
  return { platform, seen, over, lease, left, run };
}

test('a session is ended before its lease is over, where the server stops answering', async () => {
  const { platform, seen, run } = await setUp();
  await platform.advance(LEASE_MS);
  const error = await run;
  ok(error instanceof JobInterrupted && error.why === 'lease_lost');
  deepStrictEqual(seen, [`ended at ${LEASE_MS - 5_000}`]);
});

test('a session that is still being begun does not outlive its lease either', async () => {
  const { platform, seen, run } = await setUp({ begin: () => never });
  await platform.advance(LEASE_MS);
  ok((await run) instanceof JobInterrupted);
  deepStrictEqual(seen, [`ended at ${LEASE_MS - 5_000}`]);
});

test('where the server says that the lease is over, an agent that ended its own job may say its last words, and nobody else', async () => {
  const lost = () => Promise.reject(refusal(409, 'lease_lost'));
  const own = await setUp({ beat: lost, endedByAgent: async () => true });
  await own.platform.advance(LEASE_MS / 3 + 59_999);
  deepStrictEqual(own.seen, []);
  await own.platform.advance(1);
  ok((await own.run) instanceof JobInterrupted);
  deepStrictEqual(own.seen, [`ended at ${LEASE_MS / 3 + 60_000}`]);
  const silent = await setUp({ beat: lost });
  await silent.platform.advance(LEASE_MS / 3 + 2_000);
  ok((await silent.run) instanceof JobInterrupted);
  deepStrictEqual(silent.seen, [`ended at ${LEASE_MS / 3 + 2_000}`]);
});

test('last words are cut short when their worker has to leave', async () => {
  const lost = () => Promise.reject(refusal(409, 'lease_lost'));
  const { platform, seen, left, run } = await setUp({ beat: lost, endedByAgent: async () => true });
  await platform.advance(LEASE_MS / 3 + 1_000);
  deepStrictEqual(seen, []);
  left.abort(new JobInterrupted('shutdown'));
  ok((await run) instanceof JobInterrupted);
  deepStrictEqual(seen, [`ended at ${LEASE_MS / 3 + 1_000}`]);
});

test('while a session cannot be ended its task is kept, until nobody waits any longer', async () => {
  const late = await setUp({ stuck: 3, timeoutMs: 10_000 });
  let done = false;
  void late.run.then(() => (done = true));
  await late.platform.advance(15_999);
  deepStrictEqual([late.seen, done], [['stuck at 10000'], false]);
  await late.platform.advance(1);
  const error = await late.run;
  ok(error instanceof JobFailure && error.cause === 'timeout');
  deepStrictEqual(late.seen, ['stuck at 10000', 'ended at 16000', 'free at 16000']);
  late.lease.stop();
  const endless = await setUp({ stuck: Number.MAX_SAFE_INTEGER });
  endless.lease.interrupt('shutdown');
  await endless.platform.advance(60_000);
  deepStrictEqual(endless.seen, ['stuck at 0']);
  endless.over.abort(new Error('The worker leaves.'));
  ok((await endless.run) instanceof JobInterrupted);
  endless.lease.stop();
  strictEqual(endless.platform.pending, 0);
});

test('a session that a server runs for others keeps its job until it has ended, or the server stops [WK-23 WK-36]', async () => {
  for (const stops of [false, true]) {
    const platform = new FakePlatform();
    const [told, over] = [new AbortController(), new AbortController()];
    let failures = 3;
    const end = async (): Promise<void> => {
      if (failures-- > 0) throw new Error('It is at work still.');
    };
    const sessions = new SpawnedSessions({
      platform,
      runner: {
        name: 'command',
        hasEnvironment: true,
        begin: async () => ({ ended: never, kill: end }),
        endLeftover: end,
      },
      terms: { url: '', defaultDir: null, timeoutMs: 60_000, timeoutMaxMs: 60_000, leaseMs: 30_000 },
      over: over.signal,
      log: { info: () => undefined, warn: () => undefined },
    });
    const context = { ...heldLease().context, signal: told.signal };
    let isOver = false;
    const run = sessions.run(claimedJob({ title: 's' }), context).catch(() => (isOver = true));
    await platform.advance(1_000);
    told.abort(new JobInterrupted('cancelled'));
    await platform.advance(5_999);
    deepStrictEqual([isOver, failures], [false, 0]);
    if (stops) over.abort(new Error('The server stops.'));
    await platform.advance(1);
    await run;
    deepStrictEqual([isOver, failures], [true, stops ? 0 : -1]);
  }
});

test('a session whose end is not certain is ended before its task is blocked, with the reason', async () => {
  const lost = new Error('Processes of s could not be ended: 7.');
  let stuck = 1;
  const kill = async (): Promise<void> => {
    if (stuck-- > 0) throw lost;
  };
  const begin = async (): Promise<Session> => ({ ended: Promise.reject(lost), kill });
  const { platform, seen, run, lease } = await setUp({ begin });
  await platform.advance(2_000);
  await rejects(Promise.reject(await run), { message: lost.message, requeue: false });
  deepStrictEqual(seen, ['stuck at 0', 'ended at 2000', 'free at 2000']);
  lease.stop();
});

test('what was certainly not begun is not looked for', async () => {
  const begin = (): Promise<never> => Promise.reject(new JobFailure('Nobody is there.', { requeue: false }));
  const { seen, run, lease } = await setUp({ begin, stuck: 1 });
  await rejects(Promise.reject(await run), { message: 'Nobody is there.', requeue: false });
  deepStrictEqual(seen, []);
  lease.stop();
});

test('a session whose end nobody knows is ended before its task is, which is not tried again', async () => {
  const begin = async (): Promise<Session> => ({
    ended: Promise.reject(new Error('The connection is lost.')),
    kill: () => Promise.reject(new Error('It is at work still.')),
  });
  const { platform, seen, run, lease } = await setUp({ begin });
  await platform.advance(10_000);
  const error = await run;
  ok(error instanceof JobFailure && !error.requeue, String(error));
  deepStrictEqual(error.details, { message: 'The connection is lost.', sessionId: 's' });
  deepStrictEqual(seen, ['stuck at 0', 'ended at 2000', 'free at 2000']);
  lease.stop();
});

test('a task whose session no task could have now waits, and nothing is looked for', async () => {
  const later = new PutOff(30_000, 'Nobody is there.');
  for (const begin of [
    () => Promise.reject(later),
    async (): Promise<Session> => ({ ended: Promise.reject(later), kill: () => never }),
  ]) {
    const { seen, run, lease } = await setUp({ begin });
    strictEqual(await run, later);
    deepStrictEqual(seen, []);
    lease.stop();
  }
});
