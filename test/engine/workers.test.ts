import assert from 'node:assert/strict';
import type { SlotBeat, SlotStart } from '../../src/domain/worker-slot.ts';
import type { Job } from '../../src/domain/job.ts';
import { Reaper } from '../../src/loops/reaper.ts';
import { type EndSession, Watchdog } from '../../src/loops/watchdog.ts';
import { rest } from '../support/clock.ts';
import {
  claimed,
  create,
  DIALECTS,
  finished,
  HEAD,
  onEvery,
  type Opened,
  read,
  refusal,
  stateOf,
  worker,
} from '../support/engines.ts';

const ONE = worker('slot-1', ['slot-1', 'any']);

function start(instance: string, gone: string | null = null, slot = 'slot-1'): SlotStart {
  return { slot, instance, gone, metadata: { workerPid: 7, workerVersion: '1' } };
}

function beat(instance: string, more: Partial<SlotBeat> = {}): SlotBeat {
  const nothing = { jobId: null, attempt: null, title: null, sessionId: null, metadata: {} };
  return { slot: 'slot-1', instance, status: 'idle', ...nothing, ...more };
}

onEvery(DIALECTS, (each) => {
  each('a slot starts idle, and counts its restarts [WK-03 WK-05 WK-33]', async (spine) => {
    const { workers } = spine.engine;
    const { slot, recovered } = await workers.start(ONE, start('a'));
    assert.deepEqual([slot.status, slot.jobId, slot.restartCount, recovered], ['idle', null, 0, null]);
    const restarted = await workers.start(ONE, start('b', 'a'));
    assert.equal(restarted.slot.restartCount, 1);
    // Whoever did not hear the answer asks again.
    await spine.clock.advance(10);
    const { startedAt, restartCount } = (await workers.start(ONE, start('b', 'a'))).slot;
    assert.deepEqual([startedAt, restartCount], [restarted.slot.startedAt, 1]);
  });

  each('a slot belongs to one living process at a time [WK-28]', async (spine) => {
    const { workers } = spine.engine;
    await workers.start(ONE, start('a'));
    assert.equal(await refusal(workers.start(ONE, start('b'))), 'conflict');
    await spine.clock.advance(90_001);
    await workers.start(ONE, start('b'));
    assert.equal(await refusal(workers.beat(ONE, beat('a'))), 'conflict');
    await workers.beat(ONE, beat('b', { status: 'offline' }));
    await workers.start(ONE, start('c'));
    const starts = ['d', 'e', 'f'].map((instance) => workers.start(ONE, start(instance, 'c')));
    const ends = await Promise.allSettled(starts);
    assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  each('a worker speaks for its own slots only [WK-01]', async (spine) => {
    const { workers } = spine.engine;
    assert.equal(await refusal(workers.start(ONE, start('a', null, 'slot-2'))), 'forbidden');
    await workers.start(ONE, start('a', null, 'slot-1.2'));
    const metadata = { much: 'x'.repeat(5_000) };
    assert.equal(await refusal(workers.start(ONE, { ...start('a'), metadata })), 'bad_request');
  });

  each('a restart gives back what the slot held, once, and merges why [WK-32]', async (spine) => {
    const { workers } = spine.engine;
    const job = await create(spine, { target: 'slot-1', meta: { keep: 1 } });
    await workers.start(ONE, start('a'));
    const { attempts } = await claimed(spine, job, ONE);
    const doing = { status: 'working', jobId: job.id, attempt: attempts, sessionId: 's-1' } as const;
    await workers.beat(ONE, beat('a', doing));
    const { recovered } = await workers.start(ONE, start('b', 'a'));
    assert.equal(recovered, job.id);
    assert.equal(await stateOf(spine, job), 'queued');
    const meta: unknown = JSON.parse((await spine.store.read.jobs.inputOf(job.no)).meta ?? '{}');
    const recoveredAt = spine.engine.now();
    assert.deepEqual(meta, { keep: 1, crashRecovery: true, previousSession: 's-1', recoveredAt });
    assert.equal((await workers.start(ONE, start('c', 'b'))).recovered, null);
  });

  each('a restart says why of a task that went back before it [WK-32]', async (spine) => {
    const { workers } = spine.engine;
    const job = await create(spine, { target: 'slot-1', leaseMs: 60_000, meta: { keep: 1 } });
    await workers.start(ONE, start('a'));
    await claimed(spine, job, ONE);
    const doing = { status: 'working', jobId: job.id, attempt: 1, sessionId: 's-1' } as const;
    await workers.beat(ONE, beat('a', doing));
    await spine.clock.advance(60_001);
    await spine.engine.core.perform({ kind: 'expire', id: job.id, actor: HEAD });
    assert.equal(await stateOf(spine, job), 'queued');
    const { slot, recovered } = await workers.start(ONE, start('b', 'a'));
    assert.deepEqual([recovered, slot.leftSession], [job.id, 's-1']);
    const meta: unknown = JSON.parse((await spine.store.read.jobs.inputOf(job.no)).meta ?? '{}');
    const recoveredAt = spine.engine.now();
    assert.deepEqual(meta, { keep: 1, crashRecovery: true, previousSession: 's-1', recoveredAt });
    // The first heartbeat says that what was left has ended.
    assert.equal((await workers.beat(ONE, beat('b'))).leftSession, null);
  });

  each('what a lost worker left running is ended before its job goes back [WK-23 WK-34]', async (spine) => {
    const { workers, core } = spine.engine;
    const jobs: Job[] = [];
    const seen: unknown[] = [];
    const endSession: EndSession = async ({ slot, sessionId }) =>
      void seen.push([slot, sessionId, await stateOf(spine, jobs[0] as Job)]);
    const reaper = new Reaper(core, 1_000, endSession);
    for (const name of ['slot-1', 'slot-2']) {
      const one = worker(name, [name]);
      const job = await create(spine, { target: name, leaseMs: 60_000 });
      await workers.start(one, start('a', null, name));
      await claimed(spine, job, one);
      const doing = { slot: name, status: 'working', jobId: job.id, attempt: 1, sessionId: 's' } as const;
      await workers.beat(one, beat('a', doing));
      jobs.push(job);
    }
    await spine.clock.advance(50_000);
    const last = { slot: 'slot-2', status: 'working', jobId: jobs[1]?.id ?? '', attempt: 1, sessionId: 's' };
    await workers.beat(worker('slot-2', ['slot-2']), beat('a', last as Partial<SlotBeat>));
    await spine.clock.advance(10_001);
    await reaper.pulse().runOnce();
    while ((await reaper.runOnce()).nextInMs !== undefined) await rest();
    // The second one is heard from: it ends its session itself.
    assert.deepEqual(seen, [['slot-1', 's', 'running']]);
    assert.deepEqual(await Promise.all(jobs.map((job) => stateOf(spine, job))), ['queued', 'queued']);
  });

  each('a session that does not end holds up its own job alone [WK-23 WK-34]', async (spine) => {
    const { workers, core } = spine.engine;
    let over = (): void => undefined;
    const reaper = new Reaper(core, 1_000, () => new Promise((resolve) => (over = resolve)));
    const stuck = await create(spine, { target: 'slot-1', leaseMs: 60_000 });
    await workers.start(ONE, start('a'));
    await claimed(spine, stuck, ONE);
    const doing = { status: 'working', jobId: stuck.id, attempt: 1, sessionId: 's' } as const;
    await workers.beat(ONE, beat('a', doing));
    await spine.clock.advance(60_001);
    await reaper.pulse().runOnce();
    await reaper.runOnce();
    const other = await create(spine, { leaseMs: 1_000 });
    await claimed(spine, other);
    await spine.clock.advance(1_001);
    const { nextInMs } = await reaper.runOnce();
    assert.deepEqual([await stateOf(spine, stuck), await stateOf(spine, other)], ['running', 'queued']);
    assert.ok((nextInMs ?? Infinity) < 1_000);
    over();
    await rest();
    await reaper.runOnce();
    assert.equal(await stateOf(spine, stuck), 'queued');
    assert.equal((await reaper.runOnce()).nextInMs, undefined);
  });

  each('a restart leaves alone what has ended, or is somebody else’s by now [WK-32]', async (spine) => {
    const { workers } = spine.engine;
    const done = await create(spine, { target: 'slot-1' });
    await workers.start(ONE, start('a'));
    await finished(spine, done);
    await workers.beat(ONE, beat('a', { status: 'working', jobId: done.id, attempt: 1 }));
    assert.equal((await workers.start(ONE, start('b', 'a'))).recovered, null);
    assert.equal(await stateOf(spine, done), 'done');
    const again = await create(spine, { target: 'slot-1' });
    const held = await claimed(spine, again, ONE);
    await spine.engine.leases.release(ONE, again.id, held.leaseToken, null);
    const now = await claimed(spine, again, worker('other'));
    await workers.beat(ONE, beat('b', { status: 'working', jobId: again.id, attempt: 1 }));
    await workers.start(ONE, start('c', 'b'));
    assert.deepEqual(await read(spine, again), now);
  });

  each(
    'a restart leaves alone what another slot of the same worker has claimed since [WK-32]',
    async (spine) => {
      const { workers } = spine.engine;
      const job = await create(spine, { target: 'slot-1' });
      await workers.start(ONE, start('a'));
      const held = await claimed(spine, job, ONE);
      await workers.beat(ONE, beat('a', { status: 'working', jobId: job.id, attempt: 1 }));
      await spine.engine.leases.release(ONE, job.id, held.leaseToken, null);
      const now = await claimed(spine, job, ONE);
      assert.equal((await workers.start(ONE, start('b', 'a'))).recovered, null);
      assert.deepEqual(await read(spine, job), now);
    },
  );

  each('the watchdog finds a silent worker and gives its task back once [WK-07 WK-34]', async (spine) => {
    const { workers } = spine.engine;
    const ended: string[] = [];
    const watchdog = watchdogOf(spine, ended);
    const job = await create(spine, { target: 'slot-1', leaseMs: 1_000_000 });
    await workers.start(ONE, start('a'));
    const held = await spine.engine.leases.claim(ONE, job.id, { leaseMs: 90_000 });
    const doing = { status: 'working', jobId: job.id, attempt: 1, sessionId: 's-1' } as const;
    await workers.beat(ONE, beat('a', doing));
    await spine.clock.advance(90_000);
    assert.equal((await watchdog.runOnce()).done, 0);
    await spine.clock.advance(1);
    assert.equal((await watchdog.runOnce()).done, 1);
    const slot = await workers.get('slot-1');
    assert.deepEqual(
      [slot.status, slot.jobId, slot.metadata['offlineReason'], slot.metadata['detectedAt']],
      ['offline', null, 'stale-heartbeat', spine.engine.now()],
    );
    assert.deepEqual([slot.sessionId, slot.leftSession], [null, 's-1']);
    assert.deepEqual(ended, ['s-1']);
    assert.equal(await stateOf(spine, job), 'queued');
    const next = await claimed(spine, job, worker('next'));
    assert.equal((await watchdog.runOnce()).done, 0);
    assert.deepEqual(await read(spine, job), next);
    const late = spine.engine.leases.complete(ONE, job.id, held.job.leaseToken, 'late');
    assert.equal(await refusal(late), 'lease_lost');
  });

  each(
    'the watchdog never takes a lease that lives, nor a worker that said good-bye [WK-34]',
    async (spine) => {
      const { workers } = spine.engine;
      const job = await create(spine, { target: 'slot-1' });
      await workers.start(ONE, start('a'));
      const { job: held } = await spine.engine.leases.claim(ONE, job.id, { leaseMs: 90_000 });
      await workers.beat(ONE, beat('a', { status: 'working', jobId: job.id, attempt: 1 }));
      await spine.clock.advance(60_000);
      await spine.engine.leases.heartbeat(ONE, job.id, held.leaseToken, null);
      await spine.clock.advance(60_000);
      const watchdog = watchdogOf(spine);
      assert.equal((await watchdog.runOnce()).done, 0);
      assert.equal(await stateOf(spine, job), 'running');
      const bye = { status: 'offline', metadata: { offlineReason: 'graceful-shutdown' } } as const;
      await workers.beat(ONE, beat('a', bye));
      await spine.clock.advance(200_000);
      assert.equal((await watchdog.runOnce()).done, 0);
      assert.equal((await workers.get('slot-1')).metadata['offlineReason'], 'graceful-shutdown');
    },
  );

  each(
    'a task that was taken by its status is kept by the heartbeats of its slot, and goes back when they end [WK-12 WK-34]',
    async (spine) => {
      const { workers, tasks } = spine.engine;
      const job = await create(spine, { target: 'slot-1' });
      await workers.start(ONE, start('a'));
      await tasks.change(ONE, job, { status: 'in-progress', metadata: null, note: null });
      const { leaseUntil } = await read(spine, job);
      assert.ok((leaseUntil ?? 0) - spine.engine.now() >= 1_800_000);
      const doing = { status: 'working', jobId: job.id, attempt: 1, sessionId: 's-1' } as const;
      const watchdog = watchdogOf(spine);
      for (let i = 0; i < 5; i++) {
        await workers.beat(ONE, beat('a', doing));
        assert.equal((await read(spine, job)).leaseUntil, spine.engine.now() + 90_000);
        await spine.clock.advance(60_000);
      }
      assert.equal((await watchdog.runOnce()).done, 0);
      await spine.clock.advance(30_001);
      assert.equal((await watchdog.runOnce()).done, 1);
      assert.equal(await stateOf(spine, job), 'queued');
      // A beat that names a claim of old renews nothing.
      const next = await claimed(spine, job, worker('next'));
      await workers.start(ONE, start('b'));
      await workers.beat(ONE, beat('b', doing));
      assert.equal((await read(spine, job)).leaseUntil, next.leaseUntil);
    },
  );

  each('silent workers whose leases live do not hide one that is gone [WK-34]', async (spine) => {
    const { workers } = spine.engine;
    for (let i = 0; i < 101; i++) {
      const job = await create(spine, { target: 'slot-1', leaseMs: 3_600_000 });
      const { leaseToken } = await claimed(spine, job, ONE);
      await spine.engine.leases.heartbeat(ONE, job.id, leaseToken, null);
      const slot = `slot-1.${i + 2}`;
      await workers.start(ONE, start('a', null, slot));
      await workers.beat(ONE, beat('a', { slot, status: 'working', jobId: job.id, attempt: 1 }));
    }
    await spine.clock.advance(1);
    await workers.start(ONE, start('a'));
    await spine.clock.advance(90_001);
    await watchdogOf(spine).runOnce();
    assert.equal((await workers.get('slot-1')).status, 'offline');
  });

  each('whoever wants to is told of a silent worker [WK-25 WK-34 WK-39]', async (spine) => {
    const { engine } = spine;
    await engine.aliases.save(HEAD, { alias: 'ops', channel: 'log', target: '', description: null });
    await engine.subscriptions.add(HEAD, { alias: 'ops', events: ['stale'], target: 'slot-1' });
    await engine.subscriptions.add(HEAD, { alias: 'ops', events: ['stale'], target: 'slot-2' });
    await engine.workers.start(ONE, start('a'));
    await spine.clock.advance(90_001);
    await watchdogOf(spine).runOnce();
    const told = await engine.deliveries.list({ limit: 10 });
    assert.equal(told.length, 1);
    assert.match(told[0]?.text ?? '', /slot-1 was not heard from/);
  });

  each('a worker is asked to take nothing new, and removed when it is gone [WK-39]', async (spine) => {
    const { workers } = spine.engine;
    await workers.start(ONE, start('a'));
    await workers.drain(HEAD, 'slot-1', true);
    assert.equal((await workers.beat(ONE, beat('a'))).draining, true);
    await workers.start(ONE, start('b', null, 'slot-1.2'));
    await workers.drain(HEAD, 'slot-1', true);
    assert.equal((await workers.get('slot-1.2')).draining, true);
    await workers.drain(HEAD, 'slot-1.2', false);
    assert.deepEqual(
      [(await workers.get('slot-1')).draining, (await workers.get('slot-1.2')).draining],
      [true, false],
    );
    assert.equal(await refusal(workers.remove(HEAD, 'slot-1')), 'conflict');
    await workers.beat(ONE, beat('a', { status: 'offline' }));
    await workers.remove(HEAD, 'slot-1');
    assert.equal(await refusal(workers.get('slot-1')), 'not_found');
  });
});

function watchdogOf({ engine }: Opened, ended: string[] = []): Watchdog {
  return new Watchdog({
    core: engine.core,
    everyMs: 120_000,
    absenceMs: () => 0,
    endSession: async ({ sessionId }) => void ended.push(sessionId ?? ''),
    onStale: () => undefined,
  });
}
