import assert from 'node:assert/strict';
import type { Duty } from '../../src/loops/loop.ts';
import { Loop } from '../../src/loops/loop.ts';
import { Reaper } from '../../src/loops/reaper.ts';
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

/** A server's reaper and pulse, stepped by hand. */
function reaperOf(spine: Opened): { reaper: Reaper; pulse: Duty; step: (ms: number) => Promise<void> } {
  const reaper = new Reaper(spine.engine.core, 30_000);
  const pulse = reaper.pulse();
  return {
    reaper,
    pulse,
    /** Time passes while the server is well: its pulse beats every second. */
    step: async (ms) => {
      for (let left = ms; left > 0; left -= 1_000) {
        await spine.clock.advance(Math.min(1_000, left));
        await pulse.runOnce();
      }
      await reaper.runOnce();
    },
  };
}

onEvery(DIALECTS, (each) => {
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
    'waits as long as nobody was there, one lease at most, before it reaps',
    async (spine) => {
      for (const [gapMs, waitMs] of [
        [20_000, 20_000],
        [LEASE_MS * 50, LEASE_MS],
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

  each(
    'reaps many, batch after batch',
    async (spine) => {
      await createMany(spine, 620);
      await claimNext(spine, { max: 620 });
      const { reaper, pulse } = reaperOf(spine);
      await pulse.runOnce();
      for (let i = 0; i < LEASE_MS / 5_000; i++) {
        await spine.clock.advance(5_000);
        await pulse.runOnce();
      }
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
