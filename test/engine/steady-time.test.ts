import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../../src/domain/job.ts';
import { SteadyTime } from '../../src/engine/steady-time.ts';
import type { Duty } from '../../src/loops/loop.ts';
import { Reaper } from '../../src/loops/reaper.ts';
import { scheduler } from '../../src/loops/scheduler.ts';
import type { Store } from '../../src/store/store.ts';
import {
  claimed,
  create,
  DIALECTS,
  HEAD,
  onEvery,
  type Opened,
  stateOf,
  worker,
} from '../support/engines.ts';
import { plan, runsOf } from '../support/scheduling.ts';

const HOUR_MS = 3_600_000;
const LEASE_MS = 10_000;

/** An installation whose clock a test can set: the machine's on SQLite, the database's on PostgreSQL. */
function settable() {
  let setByMs = 0;
  let now: () => number = () => 0;
  const wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name: keyof Store) => {
        if (name === 'clockOffsetMs') return () => (target.dialect === 'postgres' ? setByMs : 0);
        const value = target[name];
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  return {
    options: {
      wrap,
      time: { wallMs: () => now() + setByMs, monoMs: () => now() },
      settings: { leaseMs: LEASE_MS },
    },
    /** To be called with the engine that has these options. */
    of: ({ clock }: Opened) => void (now = () => clock.now()),
    set: (byMs: number) => void (setByMs += byMs),
  };
}

/** The loops that time is for, run every second as a server runs them. */
function loopsOf({ engine, clock }: Opened) {
  const reaper = new Reaper(engine.core, 1_000);
  const duties: readonly Duty[] = [reaper.pulse(), reaper, scheduler(engine.core, 1_000)];
  return async (seconds: number, each: (second: number) => Promise<unknown> = async () => undefined) => {
    for (let second = 0; second < seconds; second++) {
      await clock.advance(1_000);
      for (const duty of duties) await duty.runOnce();
      await each(second);
    }
  };
}

onEvery(DIALECTS, (each) => {
  const ahead = settable();
  each(
    'after a clock is set forward what is due fires at once, and nobody who still works loses a lease',
    async (spine) => {
      ahead.of(spine);
      const live = loopsOf(spine);
      const beat = (by: string, { id, leaseToken }: Job) =>
        spine.engine.leases.heartbeat(worker(by), id, leaseToken, null);
      await live(2);
      const holder = await claimed(spine, await create(spine));
      const lost = await claimed(spine, await create(spine), worker('gone'));
      const { id } = await create(spine);
      const { job: long } = await spine.engine.leases.claim(worker('long'), id, { leaseMs: 3 * LEASE_MS });
      const hourly = await plan(spine, { every: '1h' });
      const before = spine.engine.now();
      ahead.set(HOUR_MS);
      await live(2);
      assert.ok(spine.engine.now() >= before + HOUR_MS, 'time follows');
      assert.equal((await runsOf(spine, hourly)).length, 1);
      const everyThird = async (second: number) => second % 3 === 0 && beat('w', holder);
      await live(22, everyThird);
      await beat('long', long);
      await live(10, everyThird);
      assert.deepEqual(
        [await stateOf(spine, holder), await stateOf(spine, long), await stateOf(spine, lost)],
        ['running', 'running', 'queued'],
      );
    },
    ahead.options,
  );

  const back = settable();
  each(
    'after a clock is set back events keep their order, leases last about their length, and each tick comes once, on time',
    async (spine) => {
      back.of(spine);
      const live = loopsOf(spine);
      const every = await plan(spine, { every: '10s', overlap_policy: 'allow' });
      await live(21);
      const fired = (await runsOf(spine, every)).length;
      assert.equal(fired, 2);
      const lost = await claimed(spine, await create(spine), worker('gone'));
      back.set(-HOUR_MS);
      let last = spine.engine.now();
      await live(13, async () => {
        const now = spine.engine.now();
        assert.ok(now > last, 'time goes on');
        last = now;
      });
      assert.equal(await stateOf(spine, lost), 'queued');
      await live(20);
      const runs = await runsOf(spine, every);
      assert.equal(runs.length - fired, 3, 'ticks in 33 seconds');
      assert.equal(new Set(runs.map(({ run }) => run.dueAt)).size, runs.length);
      const times = (await spine.engine.jobs.events(HEAD, lost.id, 0, 99)).map(({ at }) => at);
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      );
    },
    back.options,
  );

  const stopped = settable();
  each(
    'a server that starts while the clock stands behind its last beat goes on from there',
    async (spine) => {
      stopped.of(spine);
      const start = spine.engine.now();
      const late = start + HOUR_MS;
      await spine.store.transaction(0, async (tx) => tx.servers.beat('server', late));
      await spine.engine.core.continueTime();
      assert.ok(spine.engine.now() >= late);
      await spine.clock.advance(10_000);
      assert.ok(spine.engine.now() >= late + 9_000, 'about as fast as before');
      await spine.clock.advance(11 * HOUR_MS);
      assert.equal(
        spine.engine.now(),
        start + 11 * HOUR_MS + 10_000,
        'and in the end it meets the clock again',
      );
    },
    stopped.options,
  );
});

test('time that follows a clock never runs backwards, whatever happens to the clock', () => {
  const time = new SteadyTime();
  let seed = 7;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  let last = 0;
  let wall = 1_700_000_000_000;
  for (let mono = 0; mono < 1_000_000; mono += Math.floor(random() * 1_000)) {
    wall += 500;
    if (random() < 0.05) wall += Math.floor((random() - 0.5) * 2 * HOUR_MS);
    const now = time.read(mono, wall);
    assert.ok(now >= last);
    assert.ok(now >= Math.floor(wall));
    last = now;
  }
});
