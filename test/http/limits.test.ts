import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { callLimitsOf } from '../../src/app/call-limits.ts';
import { loadConfig } from '../../src/config.ts';
import type { Actor } from '../../src/domain/command.ts';
import { SpineError } from '../../src/domain/error.ts';
import { CallLimits, type Load } from '../../src/http/call-limits.ts';
import { heartbeatRoutes } from '../../src/http/doors/bridge/heartbeats.ts';
import { loadOf } from '../../src/http/mount.ts';
import type { Route } from '../../src/http/routes.ts';
import { LongWork } from '../../src/engine/long-work.ts';
import { FakeClock } from '../support/clock.ts';
import { HEAD, worker } from '../support/engines.ts';

const VIEWER: Actor = { name: 'eyes', role: 'viewer', targets: null };
const run = (onlyJob: string): Actor => ({ name: 'w', role: 'run', targets: null, onlyJob });

const TIGHT = {
  SPINE_RUN_CALLS_PER_SECOND: '10',
  SPINE_RUN_OPEN_CALLS: '3',
  SPINE_OPEN_STREAMS: '2',
  SPINE_OPEN_BODY_BYTES: '200000',
};

function limitsOf(env: Readonly<Record<string, string>>) {
  const clock = new FakeClock();
  const limits = new CallLimits(callLimitsOf(loadConfig(env)), clock);
  return {
    clock,
    limits,
    /** How many calls in a row go through, each ended before the next. */
    sent: (actor: Actor, load: Load, count: number): number => {
      for (let done = 0; done < count; done++) {
        const leave = limits.enter(actor, load, 0);
        if (leave instanceof SpineError) return done;
        leave?.();
      }
      return count;
    },
  };
}

function settingOf(refused: unknown): unknown {
  return refused instanceof SpineError ? [refused.code, refused.details['setting']] : refused;
}

suite('what one principal may do', () => {
  test('a run may send a burst, then so many calls a second, and other runs are not touched', async () => {
    const { sent, clock } = limitsOf(TIGHT);
    strictEqual(sent(run('1'), 'write', 100), 20);
    strictEqual(sent(run('1'), 'job', 100), 0, 'children count with messages');
    strictEqual(sent(run('2'), 'write', 100), 20);
    await clock.advance(1_000);
    strictEqual(sent(run('1'), 'write', 100), 10);
    await clock.advance(3_600_000);
    strictEqual(sent(run('1'), 'write', 100), 20, 'no more than a burst is saved up');
  });

  test('heartbeats and ends are never refused for what else the caller does', () => {
    const { limits, sent } = limitsOf(TIGHT);
    for (let open = 0; open < 3; open++) limits.enter(run('1'), 'write', 30_000);
    strictEqual(sent(run('1'), 'write', 100), 0);
    strictEqual(sent(run('1'), 'lease', 10_000), 10_000);
    const large = limits.enter(run('1'), 'lease', 90_000);
    ok(typeof large === 'function');
    deepStrictEqual(settingOf(limits.enter(run('1'), 'lease', 90_000)), [
      'rate_limited',
      'SPINE_OPEN_BODY_BYTES',
    ]);
  });

  test('beats of slots are refused for how many they are, never for what else the caller does', async () => {
    const { sent, limits, clock } = limitsOf({
      SPINE_WORKER_CALLS_PER_SECOND: '10',
      SPINE_WORKER_OPEN_CALLS: '1',
    });
    const w = worker('w');
    strictEqual(loadOf(heartbeatRoutes.find(({ name }) => name === 'beatWorker') as Route), 'beat');
    limits.enter(w, 'read', 0);
    strictEqual(sent(w, 'write', 100), 0);
    strictEqual(sent(w, 'beat', 100), 20);
    deepStrictEqual(settingOf(limits.enter(w, 'beat', 0)), ['rate_limited', 'SPINE_WORKER_CALLS_PER_SECOND']);
    strictEqual(sent(w, 'lease', 100), 100);
    await clock.advance(1_000);
    strictEqual(sent(w, 'beat', 100), 10);
  });

  test('calls, streams and bodies under way are bounded, and what ends makes room', () => {
    const { limits } = limitsOf(TIGHT);
    const open = [1, 2, 3].map(() => limits.enter(run('1'), 'read', 0));
    deepStrictEqual(settingOf(limits.enter(run('1'), 'write', 0)), ['rate_limited', 'SPINE_RUN_OPEN_CALLS']);
    (open[0] as () => void)();
    ok(typeof limits.enter(run('1'), 'write', 0) === 'function');
    limits.enter(VIEWER, 'stream', 0);
    limits.enter(VIEWER, 'stream', 0);
    deepStrictEqual(settingOf(limits.enter(VIEWER, 'stream', 0)), ['rate_limited', 'SPINE_OPEN_STREAMS']);
    ok(typeof limits.enter(VIEWER, 'read', 0) === 'function');
    limits.enter(HEAD, 'job', 999_999);
    deepStrictEqual(settingOf(limits.enter(HEAD, 'job', 20_000)), ['rate_limited', 'SPINE_OPEN_BODY_BYTES']);
    ok(typeof limits.enter(HEAD, 'job', 1_000) === 'function', 'small bodies do not count');
  });

  test('bodies of runs count with those of the worker that holds them, none of which can take all of it', () => {
    const { limits } = limitsOf(TIGHT);
    ok(typeof limits.enter(run('1'), 'write', 90_000) === 'function');
    const setting = ['rate_limited', 'SPINE_OPEN_BODY_BYTES'];
    deepStrictEqual(settingOf(limits.enter(run('1'), 'write', 90_000)), setting);
    const second = limits.enter(run('2'), 'write', 90_000);
    deepStrictEqual(settingOf(limits.enter(run('3'), 'write', 90_000)), setting);
    deepStrictEqual(settingOf(limits.enter(worker('w'), 'job', 90_000)), setting);
    ok(typeof limits.enter({ ...run('4'), name: 'other' }, 'write', 90_000) === 'function');
    ok(typeof limits.enter(worker('w'), 'lease', 90_000) === 'function', 'ends count apart');
    (second as () => void)();
    ok(typeof limits.enter(run('3'), 'write', 90_000) === 'function');
  });

  test('all bodies together are bounded, and whoever has less than an equal share is let in beyond it', () => {
    const { limits } = limitsOf({ SPINE_ALL_OPEN_BODY_BYTES: '400000' });
    const open = (name: string, bytes: number): unknown =>
      settingOf(limits.enter(worker(name), 'job', bytes));
    const refused = ['rate_limited', 'SPINE_ALL_OPEN_BODY_BYTES'];
    strictEqual(typeof open('greedy', 390_000), 'function');
    deepStrictEqual(open('greedy', 20_000), refused);
    strictEqual(typeof open('modest', 200_000), 'function');
    deepStrictEqual(open('modest', 20_000), refused);
    strictEqual(typeof open('third', 130_000), 'function');
    deepStrictEqual(open('fourth', 90_000), refused, 'twice as much is the end');
    ok(typeof limits.enter(worker('greedy'), 'lease', 20_000) === 'function');
  });

  test('a refusal names the caller, the limit, the setting and when to come back', () => {
    const { limits } = limitsOf({ SPINE_RUN_OPEN_CALLS: '1' });
    limits.enter(run('7'), 'write', 0);
    const refused = limits.enter(run('7'), 'write', 0) as SpineError;
    deepStrictEqual(refused.details, {
      problem: 'run 7 has 1 calls open; SPINE_RUN_OPEN_CALLS allows no more.',
      limit: 1,
      setting: 'SPINE_RUN_OPEN_CALLS',
      retryAfterS: 1,
    });
  });

  test('by default a worker of any size meets no limit with its jobs, and head none at all', () => {
    const { sent, limits } = limitsOf({});
    for (const load of ['job', 'lease', 'read'] as const)
      strictEqual(sent(worker('w'), load, 50_000), 50_000);
    for (const load of ['job', 'write', 'read'] as const) strictEqual(sent(HEAD, load, 50_000), 50_000);
    strictEqual(sent(worker('w'), 'write', 50_000), 2_000);
    for (let waiting = 0; waiting < 4_000; waiting++)
      ok(!(limits.enter(worker('w'), 'job', 0) instanceof SpineError));
    strictEqual(sent(run('1'), 'write', 50_000), 100);
    strictEqual(sent(VIEWER, 'read', 50_000), 400);
  });

  test('0 is no limit', () => {
    const { sent } = limitsOf({ SPINE_RUN_CALLS_PER_SECOND: '0', SPINE_RUN_OPEN_CALLS: '0' });
    strictEqual(sent(run('1'), 'write', 10_000), 10_000);
  });

  test('principals that have nothing open are forgotten, and never sooner than they are like new', async () => {
    const { limits, sent, clock } = limitsOf(TIGHT);
    limits.enter(run('open'), 'write', 0);
    for (let no = 0; no < 1_500; no++) strictEqual(sent(run(String(no)), 'write', 1), 1);
    strictEqual(limits.size, 1_501);
    await clock.advance(2_001);
    sent(run('new'), 'write', 1);
    strictEqual(limits.size, 2, 'the one with an open call, and the new one');
  });
});

/** Each look at it is a while after the last. */
class SlowClock extends FakeClock {
  #looks = 0;

  override now(): number {
    return super.now() + 10 * this.#looks++;
  }
}

suite('what holds the event loop', () => {
  test('is done in one go while it is short', async () => {
    const longWork = new LongWork(1, new FakeClock());
    const order: string[] = [];
    const all = ['a', 'b', 'c'].map((name) => longWork.run(worker(name), async () => void order.push(name)));
    setImmediate(() => order.push('a heartbeat'));
    await Promise.all(all);
    deepStrictEqual(order, ['a', 'b', 'c']);
  });

  test('is done one after another, principal by principal, with room for others in between', async () => {
    const longWork = new LongWork(1, new SlowClock());
    const order: string[] = [];
    const take = (name: string): Promise<void> =>
      longWork.run(worker(name), async () => void order.push(name));
    const all = ['a', 'a', 'a', 'a', 'b', 'c'].map(take);
    setImmediate(() => order.push('a heartbeat'));
    await Promise.all(all);
    deepStrictEqual(order, ['a', 'a heartbeat', 'a', 'b', 'c', 'a', 'a']);
  });

  test('leaves rounds to others although nobody waits for it: it ends before the next call is looked at', async () => {
    const longWork = new LongWork(1, new SlowClock());
    let rounds = 0;
    const count = (): void => {
      rounds++;
      if (rounds < 100) setImmediate(count);
    };
    setImmediate(count);
    await longWork.run(HEAD, () => undefined);
    strictEqual(rounds, 0);
    await longWork.run(HEAD, () => undefined);
    ok(rounds >= 9, `${rounds} rounds in between`);
  });

  test('goes on after a failure, and does as many at once as it is told', async () => {
    const longWork = new LongWork(2, new SlowClock());
    let under = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, ++under);
      await new Promise((resolve) => setImmediate(resolve));
      under--;
      throw new Error('broken');
    };
    const ends = await Promise.allSettled(Array.from({ length: 9 }, () => longWork.run(HEAD, work)));
    strictEqual(ends.filter(({ status }) => status === 'rejected').length, 9);
    strictEqual(most, 2);
    strictEqual(await longWork.run(HEAD, () => 'well'), 'well');
  });
});
