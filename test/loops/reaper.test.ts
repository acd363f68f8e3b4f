import assert from 'node:assert/strict';
import type { Job } from '../../src/domain/job.ts';
import type { Duty } from '../../src/loops/loop.ts';
import { Loop } from '../../src/loops/loop.ts';
import { Reaper } from '../../src/loops/reaper.ts';
import { timers } from '../../src/loops/timers.ts';
import {
  claimed,
  create,
  createMany,
  claimNext,
  DIALECTS,
  eventKinds,
  onEvery,
  type Opened,
  SQLITE_MEMORY,
  stateOf,
  worker,
  HEAD,
} from '../support/engines.ts';

const LEASE_MS = 60_000;
const settings = { settings: { leaseMs: LEASE_MS } };

/** A server's reaper, pulse and watch, stepped by hand. */
function reaperOf(spine: Opened): Stepped {
  const reaper = new Reaper(spine.engine.core, 30_000);
  const pulse = reaper.pulse();
  const watch = reaper.watch();
  const live = async (ms: number): Promise<void> => {
    for (let left = ms, beat = 0; left > 0; left -= 100, beat += 100) {
      await spine.clock.advance(Math.min(100, left));
      await watch.runOnce();
      if (beat % 1_000 === 0) await pulse.runOnce();
    }
  };
  return {
    reaper,
    pulse,
    watch,
    live,
    step: async (ms) => {
      await live(ms);
      await reaper.runOnce();
    },
  };
}

interface Stepped {
  readonly reaper: Reaper;
  readonly pulse: Duty;
  readonly watch: Duty;
  /** Time passes while the server is well: its pulse beats every second, its watch ten times as often. */
  readonly live: (ms: number) => Promise<void>;
  /** The same, and the reaper looks. */
  readonly step: (ms: number) => Promise<void>;
}

onEvery(DIALECTS, (each) => {
  each(
    'ends no attempt for its time before its worker could be heard again after a downtime',
    async (spine) => {
      const inTime = await create(spine, { timeoutMs: 10_000 });
      const tooLate = await create(spine, { timeoutMs: 10_000 });
      await reaperOf(spine).pulse.runOnce();
      const held = await claimed(spine, inTime);
      await claimed(spine, tooLate);
      // The server is gone for longer than the attempts may take. Whoever finished meanwhile could tell nobody.
      await spine.clock.advance(20_000);
      const { reaper, pulse, step } = reaperOf(spine);
      const timing = timers(spine.engine.core, (now) => reaper.absenceMs(now));
      await timing.runOnce();
      await pulse.runOnce();
      await timing.runOnce();
      assert.deepEqual([await stateOf(spine, inTime), await stateOf(spine, tooLate)], ['running', 'running']);
      await spine.engine.leases.complete(worker('w'), inTime.id, held.leaseToken, 'done meanwhile');
      await step(20_000);
      await timing.runOnce();
      assert.deepEqual([await stateOf(spine, inTime), await stateOf(spine, tooLate)], ['done', 'queued']);
    },
    settings,
  );

  each(
    'gives an expired job back to the queue, and at its limit marks it dead [SP-36]',
    async (spine) => {
      const job = await create(spine, { maxAttempts: 2 });
      const { pulse, step } = reaperOf(spine);
      await pulse.runOnce();
      await claimed(spine, job);
      await step(LEASE_MS - 1);
      assert.equal(await stateOf(spine, job), 'running');
      await step(1);
      assert.equal(await stateOf(spine, job), 'queued');
      await claimed(spine, job);
      await step(LEASE_MS);
      assert.equal(await stateOf(spine, job), 'dead');
      assert.deepEqual(await eventKinds(spine, job), [
        'job.created',
        'job.claimed',
        'job.expired',
        'job.claimed',
        'job.expired',
        'job.dead',
      ]);
      const details = await spine.engine.jobs.details([await spine.engine.jobs.get(HEAD, job.id)]);
      assert.match(details.get(job.no)?.error ?? '', /lease expired/);
    },
    settings,
  );

  each(
    'leaves a job whose holder is heard from',
    async (spine) => {
      const job = await create(spine);
      const { pulse, step } = reaperOf(spine);
      await pulse.runOnce();
      const held = await claimed(spine, job);
      for (let i = 0; i < 4; i++) {
        await step(LEASE_MS / 2);
        await spine.engine.leases.heartbeat(worker('w'), job.id, held.leaseToken, null);
      }
      assert.deepEqual(
        [await stateOf(spine, job), (await eventKinds(spine, job)).includes('job.expired')],
        ['running', false],
      );
    },
    settings,
  );

  each(
    'reaps nothing before it knows how long nobody was there',
    async (spine) => {
      const job = await create(spine);
      await claimed(spine, job);
      await spine.clock.advance(LEASE_MS * 10);
      const { reaper } = reaperOf(spine);
      assert.equal((await reaper.runOnce()).done, 0);
      assert.equal(await stateOf(spine, job), 'running');
    },
    settings,
  );

  each(
    'waits as long as nobody was there, 15 seconds at most, before it reaps',
    async (spine) => {
      for (const [gapMs, waitMs] of [
        [12_000, 12_000],
        [LEASE_MS * 50, 15_000],
      ] as const) {
        const job = await create(spine);
        const before = reaperOf(spine);
        await before.pulse.runOnce();
        await claimed(spine, job);
        await before.step(LEASE_MS - 10_000);
        // The server is gone for a while; another one starts in its place.
        await spine.clock.advance(gapMs);
        const { pulse, step } = reaperOf(spine);
        await pulse.runOnce();
        await step(waitMs - 1_000);
        assert.equal(await stateOf(spine, job), 'running', `gap ${gapMs}`);
        await step(2_000);
        assert.equal(await stateOf(spine, job), 'queued', `gap ${gapMs}`);
        await spine.engine.jobs.cancel(HEAD, job.id, null);
      }
    },
    settings,
  );

  each(
    'credits holders with a stall of its own, and hears them first',
    async (spine) => {
      const job = await create(spine);
      const { reaper, pulse, step } = reaperOf(spine);
      await pulse.runOnce();
      const held = await claimed(spine, job);
      await step(LEASE_MS - 5_000);
      // Stopped for half a minute: both loops are due at once, and the reaper is first.
      await spine.clock.advance(30_000);
      await reaper.runOnce();
      await pulse.runOnce();
      await reaper.runOnce();
      assert.equal(await stateOf(spine, job), 'running');
      await spine.engine.leases.heartbeat(worker('w'), job.id, held.leaseToken, null);
      await step(31_000);
      assert.equal(await stateOf(spine, job), 'running');
      await step(LEASE_MS);
      assert.equal(await stateOf(spine, job), 'queued');
    },
    settings,
  );

  for (const [order, first] of [
    ['the watch', 'watch'],
    ['the reaper', 'reaper'],
  ] as const) {
    each(
      `hears waiting heartbeats first after a stall that is shorter than a gap and longer than a lease, when ${order} is due first`,
      async (spine) => {
        const { reaper, pulse, watch, step } = reaperOf(spine);
        await pulse.runOnce();
        await watch.runOnce();
        const { jobs } = await spine.engine.jobs.create(HEAD, [{ target: 'any', leaseMs: 500 }]);
        const job = jobs[0] as Job;
        const held = await claimed(spine, job);
        await step(200);
        // Stopped for two seconds: everything is due at once.
        await spine.clock.advance(2_000);
        if (first === 'watch') await watch.runOnce();
        assert.equal((await reaper.runOnce()).done, 0);
        await watch.runOnce();
        assert.equal((await reaper.runOnce()).done, 0);
        await step(100);
        await spine.engine.leases.heartbeat(worker('w'), job.id, held.leaseToken, null);
        await step(400);
        assert.equal(await stateOf(spine, job), 'running');
        await step(2_500);
        assert.equal(await stateOf(spine, job), 'queued', 'the stall is over, and its credit too');
      },
    );
  }

  each('credits the time between two servers, however short it was', async (spine) => {
    const before = reaperOf(spine);
    await before.pulse.runOnce();
    const { jobs } = await spine.engine.jobs.create(HEAD, [{ target: 'any', leaseMs: 500 }]);
    const job = jobs[0] as Job;
    const held = await claimed(spine, job);
    await spine.clock.advance(1_500);
    const { pulse, step } = reaperOf(spine);
    await pulse.runOnce();
    await step(1_000);
    await spine.engine.leases.heartbeat(worker('w'), job.id, held.leaseToken, null);
    await step(400);
    assert.equal(await stateOf(spine, job), 'running');
    await step(700);
    assert.equal(await stateOf(spine, job), 'queued');
  });

  each('is not kept away for ever by a server that stalls all the time', async (spine) => {
    const { reaper, pulse, watch } = reaperOf(spine);
    await pulse.runOnce();
    await watch.runOnce();
    const { jobs } = await spine.engine.jobs.create(HEAD, [{ target: 'any', leaseMs: 500 }]);
    const job = jobs[0] as Job;
    await claimed(spine, job);
    let stalls = 0;
    for (; (await stateOf(spine, job)) === 'running'; stalls++) {
      assert.ok(stalls < 100, 'never reaped');
      await spine.clock.advance(900);
      await pulse.runOnce();
      await watch.runOnce();
      await reaper.runOnce();
    }
    assert.ok(stalls > 5, `put off for ${stalls} stalls`);
  });

  each(
    'reaps many, batch after batch',
    async (spine) => {
      await createMany(spine, 620);
      await claimNext(spine, { max: 620 });
      const { reaper, pulse, live } = reaperOf(spine);
      await pulse.runOnce();
      await live(LEASE_MS);
      assert.deepEqual(await reaper.runOnce(), { done: 500, more: true });
      assert.deepEqual(await reaper.runOnce(), { done: 120, more: false });
      assert.deepEqual(await spine.engine.counts(), [{ target: 'any', state: 'queued', n: 620 }]);
    },
    settings,
  );
});

onEvery([SQLITE_MEMORY], (each) => {
  each(
    'as loops beside each other: a start after an outage keeps the leases of those who still work',
    async (spine) => {
      const job = await create(spine);
      const first = new Reaper(spine.engine.core, 30_000);
      await first.pulse().runOnce();
      const held = await claimed(spine, job);
      await spine.clock.advance(LEASE_MS * 3);
      const reaper = new Reaper(spine.engine.core, 30_000);
      const loops = [reaper, reaper.pulse()].map(
        (duty) => new Loop(duty, spine.clock, (_, error) => assert.fail(String(error))),
      );
      for (const loop of loops) loop.start();
      await spine.clock.advance(10_000);
      await spine.engine.leases.heartbeat(worker('w'), job.id, held.leaseToken, null);
      await spine.clock.advance(LEASE_MS - 5_000);
      assert.equal(await stateOf(spine, job), 'running');
      await spine.clock.advance(40_000);
      assert.equal(await stateOf(spine, job), 'queued');
      await Promise.all(loops.map((loop) => loop.stop()));
    },
    settings,
  );
});
