import assert from 'node:assert/strict';
import type { Job } from '../../src/domain/job.ts';
import type { Each, Opened } from '../support/engines.ts';
import { insert, row } from './rows.ts';

export function poolTopics(each: Each): void {
  each('gives a pool as many slots as its capacity, and frees what a job held', async ({ store }) => {
    const [a, b] = (await insert(store, [row(), row()])) as [Job, Job];
    await store.transaction(0, async (tx) => {
      await tx.pools.save({ name: 'gpu', capacity: 2, perKey: 1 }, 1);
      assert.deepEqual(await tx.pools.freeSlots('gpu', 5), [0, 1]);
      assert.deepEqual(await tx.pools.freeSlots('gpu', 1), [0]);
      await tx.pools.takeSlots([{ pool: 'gpu', idx: 0, jobNo: a.no }]);
      await tx.pools.takeSlots([{ pool: 'gpu', idx: 1, jobNo: b.no }]);
      assert.deepEqual(await tx.pools.freeSlots('gpu', 5), []);
      assert.deepEqual(await tx.pools.releaseSlots([a.no]), ['gpu']);
      assert.deepEqual(await tx.pools.freeSlots('gpu', 5), [0]);
      assert.deepEqual(await tx.pools.releaseSlots([a.no]), []);
    });
    assert.deepEqual(await store.read.pools.all(), [
      { name: 'gpu', capacity: 2, perKey: 1, running: 1, waiting: 0 },
    ]);
  });

  each('never lets one job hold two slots of a pool', async ({ store }) => {
    const [a] = (await insert(store, [row()])) as [Job];
    await store.transaction(0, async (tx) => tx.pools.save({ name: 'gpu', capacity: 2, perKey: 1 }, 1));
    const twice = store.transaction(0, async (tx) => {
      await tx.pools.takeSlots([{ pool: 'gpu', idx: 0, jobNo: a.no }]);
      await tx.pools.takeSlots([{ pool: 'gpu', idx: 1, jobNo: a.no }]);
    });
    await assert.rejects(twice, /unique/i);
  });

  each(
    'takes slots away when the capacity falls: free ones at once, others when their holder ends',
    async ({ store }) => {
      const [a, b, c] = (await insert(store, [row(), row(), row()])) as [Job, Job, Job];
      await store.transaction(0, async (tx) => {
        await tx.pools.save({ name: 'gpu', capacity: 4, perKey: 1 }, 1);
        for (const [idx, job] of [a, b, c].entries())
          await tx.pools.takeSlots([{ pool: 'gpu', idx, jobNo: job.no }]);
        await tx.pools.save({ name: 'gpu', capacity: 1, perKey: 1 }, 2);
        assert.deepEqual(await tx.pools.freeSlots('gpu', 9), []);
        await tx.pools.releaseSlots([b.no, c.no]);
        assert.deepEqual(await tx.pools.freeSlots('gpu', 9), []);
        await tx.pools.releaseSlots([a.no]);
        assert.deepEqual(await tx.pools.freeSlots('gpu', 9), [0]);
      });
    },
  );

  each("gives a key as many slots as its pool's perKey, and one when it stands alone", async ({ store }) => {
    await store.transaction(0, async (tx) => {
      await tx.pools.save({ name: 'gpu', capacity: 9, perKey: 3 }, 1);
      await tx.pools.ensureKeySlots('gpu/a', 'gpu');
      await tx.pools.ensureKeySlots('gpu/a', 'gpu');
      await tx.pools.ensureKeySlots('/b', null);
      assert.deepEqual(await tx.pools.freeSlots('gpu/a', 9), [0, 1, 2]);
      assert.deepEqual(await tx.pools.freeSlots('/b', 9), [0]);
    });
  });

  each('finds the best waiter of every target: priority first, then age', async ({ store }) => {
    const waiting = (target: string, priority: number) =>
      row({ target, priority, state: 'blocked', blockedOn: 'gpu' });
    const rows = [
      waiting('b', 0),
      waiting('a', 1),
      waiting('a', 5),
      waiting('a', 5),
      waiting('c', -3),
      row({ target: 'd' }),
    ];
    const jobs = await insert(store, rows);
    const best = await store.transaction(0, async (tx) => tx.pools.bestWaiters('gpu', 1));
    assert.deepEqual(numbers(best), numbers([jobs[0], jobs[2], jobs[4]] as Job[]));
    const two = await store.transaction(0, async (tx) => tx.pools.bestWaiters('gpu', 2));
    assert.deepEqual(numbers(two), numbers([jobs[0], jobs[2], jobs[3], jobs[4]] as Job[]));
    assert.deepEqual(await store.transaction(0, async (tx) => tx.pools.bestWaiters('other', 5)), []);
  });

  each('finds pools that have both a free slot and a waiter', async ({ store }) => {
    await insert(store, [
      row({ state: 'blocked', blockedOn: 'wanted' }),
      row({ state: 'blocked', blockedOn: 'full' }),
    ]);
    const [holder] = (await insert(store, [row()])) as [Job];
    await store.transaction(0, async (tx) => {
      for (const name of ['wanted', 'full', 'idle']) await tx.pools.save({ name, capacity: 1, perKey: 1 }, 1);
      await tx.pools.takeSlots([{ pool: 'full', idx: 0, jobNo: holder.no }]);
    });
    assert.deepEqual(await store.read.pools.withRoomAndWaiters(10), ['wanted']);
  });

  each('does not delete a pool that is in use', async (spine) => {
    await insert(spine.store, [row({ pool: 'open' })]);
    assert.equal(await remove(spine, 'missing'), 'missing');
    for (const name of ['open', 'idle'])
      await spine.store.transaction(0, async (tx) => tx.pools.save({ name, capacity: 1, perKey: 1 }, 1));
    assert.equal(await remove(spine, 'open'), 'in_use');
    assert.equal(await remove(spine, 'idle'), 'deleted');
    assert.deepEqual(
      (await spine.store.read.pools.all()).map((pool) => pool.name),
      ['open'],
    );
  });

  each(
    'sweeps the free slots of keys and leaves those of pools, of holders and of waiters',
    async ({ store }) => {
      const [holder] = (await insert(store, [row(), row({ state: 'blocked', blockedOn: '/waited' })])) as [
        Job,
      ];
      await store.transaction(0, async (tx) => {
        await tx.pools.save({ name: 'gpu', capacity: 1, perKey: 1 }, 1);
        for (const key of ['/free', '/held', '/waited']) await tx.pools.ensureKeySlots(key, null);
        await tx.pools.takeSlots([{ pool: '/held', idx: 0, jobNo: holder.no }]);
        assert.equal(await tx.pools.dropFreeKeySlots(10), 1);
        assert.deepEqual(await tx.pools.freeSlots('/free', 9), []);
        assert.deepEqual(await tx.pools.freeSlots('/waited', 9), [0]);
        assert.deepEqual(await tx.pools.freeSlots('gpu', 9), [0]);
        assert.deepEqual(await tx.pools.releaseSlots([holder.no]), ['/held']);
      });
    },
  );
}

function numbers(jobs: readonly Job[]): number[] {
  return jobs.map((job) => job.no).toSorted((a, b) => a - b);
}

function remove({ store }: Opened, name: string): Promise<string> {
  return store.transaction(0, async (tx) => tx.pools.remove(name));
}
