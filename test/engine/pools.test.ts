import assert from 'node:assert/strict';
import { poolSweeper } from '../../src/loops/pool-sweeper.ts';
import type { Job } from '../../src/domain/job.ts';
import {
  claimed,
  claimNext,
  create,
  createMany,
  DIALECTS,
  HEAD,
  onEvery,
  type Opened,
  POSTGRES,
  read,
  refusal,
  stateOf,
  worker,
} from '../support/engines.ts';

onEvery(DIALECTS, (each) => {
  each('never runs more of a pool than it has room for, with fifty claimers at once', async (spine) => {
    await spine.engine.pools.save(HEAD, { name: 'gpu', capacity: 3, perKey: 1 });
    await createMany(spine, 60, { pool: 'gpu' });
    const done = new Set<string>();
    while (done.size < 60) {
      const held = (
        await Promise.all(
          Array.from({ length: 50 }, (_, i) => claimNext(spine, { by: worker(`w${i}`), max: 2 })),
        )
      ).flat();
      assert.ok(held.length <= 3, `${held.length} run where 3 may`);
      const [gpu] = await spine.engine.pools.list();
      assert.equal(gpu?.running, held.length);
      if (held.length === 0) await sweep(spine);
      for (const { job } of held) {
        assert.equal(done.has(job.id), false);
        done.add(job.id);
      }
      await Promise.all(held.map(({ job }) => end(spine, job)));
    }
    assert.deepEqual((await spine.engine.pools.list())[0], {
      name: 'gpu',
      capacity: 3,
      perKey: 1,
      running: 0,
      waiting: 0,
    });
  });

  each('runs no more of one key than the pool allows, and other keys beside it', async (spine) => {
    await spine.engine.pools.save(HEAD, { name: 'gpu', capacity: 5, perKey: 2 });
    await createMany(spine, 4, { pool: 'gpu', concurrencyKey: 'ann' });
    await createMany(spine, 4, { pool: 'gpu', concurrencyKey: 'bob' });
    const held = await claimNext(spine, { max: 20 });
    const of = (key: string): number => held.filter(({ job }) => job.concurrencyKey === key).length;
    assert.deepEqual([of('ann'), of('bob')], [2, 2]);
    const [first] = held;
    await end(spine, first?.job as Job);
    const next = await claimNext(spine, { max: 20 });
    assert.deepEqual(
      next.map(({ job }) => job.concurrencyKey),
      [first?.job.concurrencyKey],
    );
  });

  each('runs one job of a key that stands alone at a time', async (spine) => {
    await createMany(spine, 3, { concurrencyKey: 'repo' });
    const plain = await create(spine);
    const held = await claimNext(spine, { max: 20 });
    assert.deepEqual(
      held.map(({ job }) => job.concurrencyKey),
      ['repo', null],
    );
    assert.equal(held[1]?.job.id, plain.id);
    await end(spine, held[0]?.job as Job);
    assert.equal((await claimNext(spine, { max: 20 })).length, 1);
  });

  each('lets one job at a time run in a pool that nobody has sized', async (spine) => {
    await createMany(spine, 2, { pool: 'new' });
    assert.equal((await claimNext(spine, { max: 5 })).length, 1);
  });

  each('tells a claimer by id that the pool is full, and leaves the job as it was', async (spine) => {
    const [a, b] = (await createMany(spine, 2, { pool: 'one' })) as [Job, Job];
    const held = await claimed(spine, a);
    assert.equal(await refusal(spine.engine.leases.claim(worker('w'), b.id)), 'pool_full');
    assert.deepEqual(await read(spine, b), b);
    await end(spine, held);
    await claimed(spine, b);
  });

  each('brings the parked jobs back in their order, each with its own event', async (spine) => {
    const jobs = await createMany(spine, 4, { pool: 'one' });
    const order: string[] = [];
    for (let n = 0; n < 4; n++) {
      let [held] = await claimNext(spine, { max: 4 });
      if (held === undefined) {
        await sweep(spine);
        [held] = await claimNext(spine, { max: 4 });
      }
      order.push(held?.job.id ?? 'nobody');
      await end(spine, held?.job as Job);
    }
    assert.deepEqual(
      order,
      jobs.map((job) => job.id),
    );
    const events = await spine.engine.jobs.events(HEAD, jobs[3]?.id ?? '', 0, 20);
    assert.ok(events.some(({ kind, facts }) => kind === 'job.blocked' && facts?.['pool'] === 'one'));
    assert.ok(events.some(({ kind }) => kind === 'job.queued'));
  });

  each('gives every way out of a lease its slot back', async (spine) => {
    const { engine } = spine;
    const ways: ((job: Job) => Promise<unknown>)[] = [
      (job) => engine.leases.complete(worker('w'), job.id, job.leaseToken, null),
      (job) => engine.leases.fail(worker('w'), job.id, job.leaseToken, 'x', false),
      (job) => engine.leases.fail(worker('w'), job.id, job.leaseToken, 'x', true),
      (job) => engine.leases.release(worker('w'), job.id, job.leaseToken, null),
      (job) => engine.jobs.snooze(worker('w'), job.id, engine.now() + 99_000, job.leaseToken),
      async (job) => {
        await spine.clock.advance(job.leaseMs);
        await engine.core.perform({
          kind: 'expire',
          id: job.id,
          actor: { name: 'system', role: 'system', targets: null },
        });
      },
      async (job) => {
        await spine.clock.advance(5_000);
        await engine.core.perform({
          kind: 'timeout',
          id: job.id,
          actor: { name: 'system', role: 'system', targets: null },
        });
      },
    ];
    for (const [i, way] of ways.entries()) {
      const job = await create(spine, { pool: 'one', concurrencyKey: 'k', timeoutMs: 5_000 });
      await way(await claimed(spine, job));
      assert.equal((await engine.pools.list())[0]?.running, 0, `way ${i}`);
      await engine.jobs.cancel(HEAD, job.id, null).catch(() => undefined);
    }
  });

  each(
    'gives the slot back when a job is claimed and ended in one flush',
    async (spine) => {
      const job = await create(spine, { pool: 'one' });
      await Promise.all([
        spine.engine.leases.claim(worker('w'), job.id),
        spine.engine.leases.complete(HEAD, job.id, null, null),
      ]);
      assert.equal(await stateOf(spine, job), 'done');
      assert.equal((await spine.engine.pools.list())[0]?.running, 0);
      assert.equal(
        await stateOf(spine, await claimed(spine, await create(spine, { pool: 'one' }))),
        'running',
      );
    },
    { lanes: 1 },
  );

  each(
    'keeps its one slot when a job is released and claimed again in one flush',
    async (spine) => {
      const job = await create(spine, { pool: 'one' });
      const held = await claimed(spine, job);
      await Promise.all([
        spine.engine.leases.release(worker('w'), job.id, held.leaseToken, null),
        spine.engine.leases.claim(worker('v'), job.id),
      ]);
      assert.equal((await spine.engine.pools.list())[0]?.running, 1);
      assert.equal((await read(spine, job)).claimedBy, 'v');
    },
    { lanes: 1 },
  );

  each('lets waiters in at once when the capacity is raised, as many as there is room for', async (spine) => {
    await createMany(spine, 6, { pool: 'p' });
    assert.equal((await claimNext(spine, { max: 9 })).length, 1);
    assert.deepEqual(await spine.engine.pools.save(HEAD, { name: 'p', capacity: 4, perKey: 1 }), {
      name: 'p',
      capacity: 4,
      perKey: 1,
      running: 1,
      waiting: 1,
    });
    assert.equal((await claimNext(spine, { max: 9 })).length, 3);
  });

  each('starts nothing after the capacity was lowered until fewer run than the new one', async (spine) => {
    await spine.engine.pools.save(HEAD, { name: 'p', capacity: 4, perKey: 1 });
    await createMany(spine, 8, { pool: 'p' });
    const held = await claimNext(spine, { max: 9 });
    assert.equal(held.length, 4);
    await spine.engine.pools.save(HEAD, { name: 'p', capacity: 2, perKey: 1 });
    const running = held.map(({ job }) => job);
    for (let round = 0; round < 4; round++) {
      await end(spine, running.shift() as Job);
      await sweep(spine);
      const next = (await claimNext(spine, { max: 9 })).map(({ job }) => job);
      running.push(...next);
      assert.ok(
        running.length <= 2 || next.length === 0,
        `${next.length} started while ${running.length} ran`,
      );
    }
  });

  each('holds a key to a lowered perKey', async (spine) => {
    await spine.engine.pools.save(HEAD, { name: 'p', capacity: 9, perKey: 2 });
    await createMany(spine, 6, { pool: 'p', concurrencyKey: 'k' });
    const held = await claimNext(spine, { max: 9 });
    assert.equal(held.length, 2);
    await spine.engine.pools.save(HEAD, { name: 'p', capacity: 9, perKey: 1 });
    for (const { job } of held) await end(spine, job);
    await sweep(spine);
    await sweep(spine);
    assert.equal((await claimNext(spine, { max: 9 })).length, 1);
  });

  each('keeps the size that an operator gives a pool while its first job is created', async (spine) => {
    await Promise.all([
      spine.engine.pools.save(HEAD, { name: 'p', capacity: 5, perKey: 2 }),
      create(spine, { pool: 'p' }),
    ]);
    const [pool] = await spine.engine.pools.list();
    assert.deepEqual([pool?.capacity, pool?.perKey], [5, 2]);
  });

  each('makes a removed pool again for the next job that names it', async (spine) => {
    const first = await create(spine, { pool: 'p' });
    assert.equal(await refusal(spine.engine.pools.remove(HEAD, 'p')), 'conflict');
    await end(spine, await claimed(spine, first));
    await spine.engine.pools.remove(HEAD, 'p');
    assert.equal(await refusal(spine.engine.pools.remove(HEAD, 'p')), 'not_found');
    await create(spine, { pool: 'p' });
    assert.equal((await claimNext(spine)).length, 1);
  });

  each('lets work without a pool pass those that wait for one', async (spine) => {
    await createMany(spine, 150, { pool: 'full' });
    await createMany(spine, 2);
    const seen = [];
    for (let i = 0; i < 3; i++) seen.push(...(await claimNext(spine)));
    assert.deepEqual(
      seen.map(({ job }) => job.pool),
      ['full', null, null],
    );
  });
});

onEvery([POSTGRES], (each) => {
  each('never runs more of a pool than it has room for over two servers', async (spine) => {
    if (spine.another === null) throw new Error('PostgreSQL takes several servers');
    await using other = await spine.another();
    await spine.engine.pools.save(HEAD, { name: 'gpu', capacity: 3, perKey: 1 });
    await createMany(spine, 40, { pool: 'gpu' });
    let done = 0;
    for (let round = 0; done < 40 && round < 200; round++) {
      const servers = [spine, other];
      const held = (
        await Promise.all(
          Array.from({ length: 10 }, (_, i) =>
            claimNext(servers[i % 2] as Opened, { by: worker(`w${i}`), max: 2 }),
          ),
        )
      ).flat();
      assert.ok(held.length <= 3, `${held.length} run where 3 may`);
      if (held.length === 0) await sweep(spine);
      await Promise.all(held.map(({ job }, i) => end(servers[i % 2] as Opened, job)));
      done += held.length;
    }
    assert.equal(done, 40);
  });
});

function end(spine: Opened, job: Job): Promise<unknown> {
  return spine.engine.leases.complete(HEAD, job.id, job.leaseToken, null);
}

async function sweep(spine: Opened): Promise<void> {
  await poolSweeper(spine.engine.core).runOnce();
}
