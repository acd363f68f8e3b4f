import assert from 'node:assert/strict';
import type { JobDraft } from '../../src/engine/engine.ts';
import { FakeClock, until } from '../support/clock.ts';
import {
  claimed,
  claimNext,
  create,
  ENGINES,
  eventKinds,
  failed,
  HEAD,
  onEvery,
  read,
  refusal,
  runTimers,
  stateOf,
  worker,
} from '../support/engines.ts';

onEvery(ENGINES, (each) => {
  each('does not hand out a job before its run time, nor by its id', async (spine) => {
    const runAt = spine.engine.now() + 60_000;
    const job = await create(spine, { runAt });
    assert.equal(job.state, 'scheduled');
    assert.deepEqual(await claimNext(spine), []);
    await assert.rejects(spine.engine.leases.claim(worker('w'), job.id), {
      code: 'not_ready',
      details: { state: 'scheduled', runAt },
    });
    await spine.clock.advance(59_999);
    await runTimers(spine);
    assert.deepEqual(await claimNext(spine), []);
    await spine.clock.advance(1);
    await runTimers(spine);
    assert.equal((await claimNext(spine)).length, 1);
  });

  each('runs a job with a run time in the past at once', async (spine) => {
    assert.equal((await create(spine, { runAt: 1 })).state, 'queued');
  });

  each('ends an attempt that ran too long, and takes its late result no more', async (spine) => {
    const job = await create(spine, { timeoutMs: 5_000, maxAttempts: 2 });
    const held = await claimed(spine, job);
    await spine.clock.advance(4_999);
    await spine.engine.leases.heartbeat(worker('w'), job.id, held.leaseToken, null);
    await runTimers(spine);
    assert.equal(await stateOf(spine, job), 'running');
    await spine.clock.advance(1);
    await runTimers(spine);
    assert.equal(await stateOf(spine, job), 'queued');
    assert.equal(
      await refusal(spine.engine.leases.complete(worker('w'), job.id, held.leaseToken, 'late')),
      'lease_lost',
    );
    await claimed(spine, job);
    await spine.clock.advance(5_000);
    await runTimers(spine);
    assert.equal(await stateOf(spine, job), 'dead');
    assert.deepEqual((await eventKinds(spine, job)).slice(-2), ['job.timeout', 'job.dead']);
  });

  each('waits longer after every failure when it has a backoff', async (spine) => {
    const job = await create(spine, { retry: { max: 4, backoffMs: 1_000 } });
    assert.equal(job.maxAttempts, 5);
    for (const delayMs of [1_000, 2_000, 4_000]) {
      const after = await failed(spine, job);
      assert.deepEqual([after.state, after.runAt - spine.engine.now()], ['scheduled', delayMs]);
      await spine.clock.advance(delayMs);
      await runTimers(spine);
    }
  });

  each(
    'waits 10 s, then twice as long each time, when a worker that wants a wait failed it; its runAt says so',
    async (spine) => {
      const { leases } = spine.engine;
      const job = await create(spine);
      for (const middleMs of [10_000, 20_000, 40_000, 80_000]) {
        const held = await claimed(spine, job);
        const failure = await leases.fail(worker('w'), job.id, held.leaseToken, 'x', true, { backoff: true });
        const delayMs = failure.job.runAt - spine.engine.now();
        assert.equal(failure.job.state, 'scheduled');
        assert.ok(delayMs >= middleMs / 2 && delayMs <= middleMs * 1.5, `${delayMs} ms for ${middleMs} ms`);
        await spine.clock.advance(delayMs - 1);
        await runTimers(spine);
        assert.equal(await stateOf(spine, job), 'scheduled');
        await spine.clock.advance(1);
        await runTimers(spine);
        assert.equal(await stateOf(spine, job), 'queued');
      }
    },
  );

  each('has the backoff of its type, unless it says otherwise', async (spine) => {
    await spine.engine.types.save(HEAD, { name: 'shy', retry: { backoffMs: 2_000 } });
    const waits = async (draft: Partial<JobDraft>) => (await create(spine, draft)).backoffMs;
    assert.equal(await waits({ type: 'shy' }), 2_000);
    assert.equal(await waits({ type: 'shy', retry: { backoffMs: 0 } }), 0);
    assert.equal(await waits({ type: 'shy', retry: { mode: 'lineage' } }), 2_000);
    assert.equal(await waits({}), null);
  });

  each('is tried as often as its type says, unless it says otherwise', async (spine) => {
    await spine.engine.types.save(HEAD, { name: 'once', maxRetries: 0 });
    await spine.engine.types.save(HEAD, { name: 'unsaid', label: 'Nobody has said how often' });
    const tries = async (draft: Partial<JobDraft>) => (await create(spine, draft)).maxAttempts;
    const usual = await tries({});
    assert.deepEqual([await tries({ type: 'once' }), await tries({ type: 'unsaid' })], [1, usual]);
    assert.equal(await tries({ type: 'once', maxAttempts: 4 }), 4);
    assert.equal(await tries({ type: 'once', retry: { max: 2 } }), 3);
    assert.equal(await stateOf(spine, await failed(spine, await create(spine, { type: 'once' }))), 'dead');
  });

  each('is put off by its holder, who loses it with that, and by head', async (spine) => {
    const { engine } = spine;
    const job = await create(spine);
    const held = await claimed(spine, job);
    const untilAt = engine.now() + 10_000;
    const snoozed = (await engine.jobs.snooze(worker('w'), job.id, untilAt, held.leaseToken)).job;
    assert.deepEqual([snoozed.state, snoozed.runAt, snoozed.claimedBy], ['scheduled', untilAt, null]);
    assert.equal(snoozed.attempts, 0, 'putting it off is no try at it');
    assert.equal(
      await refusal(engine.leases.complete(worker('w'), job.id, held.leaseToken, null)),
      'lease_lost',
    );
    assert.deepEqual((await engine.jobs.snooze(worker('w'), job.id, untilAt, held.leaseToken)).repeated, {
      verb: 'snooze',
      state: 'scheduled',
    });
    await engine.jobs.snooze(HEAD, job.id, untilAt + 5_000, null);
    await spine.clock.advance(10_000);
    await runTimers(spine);
    assert.equal(await stateOf(spine, job), 'scheduled');
    await spine.clock.advance(5_000);
    await runTimers(spine);
    assert.equal(await stateOf(spine, job), 'queued');
    assert.equal((await read(spine, job)).runAt, untilAt + 5_000);
  });

  each('wakes who waits for work when a delayed job becomes ready', async (spine) => {
    const job = await create(spine, { runAt: spine.engine.now() + 1_000 });
    const waiting = claimNext(spine, { waitMs: 60_000 });
    assert.ok(spine.clock instanceof FakeClock);
    const { clock } = spine;
    await until('it has found nothing and waits', () => clock.pending > 0);
    await spine.clock.advance(1_000);
    await runTimers(spine);
    assert.deepEqual(
      (await waiting).map((held) => held.job.id),
      [job.id],
    );
  });
});
