import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpineError } from '../../src/domain/error.ts';
import type { Reads, Store } from '../../src/store/store.ts';
import {
  reasonOf,
  claimNext,
  create,
  onEvery,
  POSTGRES,
  read,
  SQLITE_MEMORY,
  type Opened,
} from '../support/engines.ts';
import { everyJob } from '../conformance/events.ts';

/** A store whose named reads fail as often as told. */
function failingReads(fails: Partial<Record<keyof Reads, number>>): (store: Store) => Store {
  return (store) => {
    const read = new Proxy(store.read, {
      get: (target, name: keyof Reads) => {
        if ((fails[name] ?? 0) <= 0) return target[name];
        return () => {
          fails[name] = (fails[name] ?? 0) - 1;
          return Promise.reject(new SpineError('store_unavailable'));
        };
      },
    });
    return new Proxy(store, {
      get: (target, name: keyof Store) => {
        if (name === 'read') return read;
        const value = target[name];
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  };
}

test('one failed look at the pauses does not end all work', async () => {
  await using spine = await SQLITE_MEMORY.open({ wrap: failingReads({ routing: 1 }) });
  await assert.rejects(create(spine), { code: 'store_unavailable' });
  assert.equal((await create(spine)).state, 'queued');
});

test('a job that names no time is ready at once, even when the clock is put back while it is created', async () => {
  let offsetMs = 0;
  const wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name: keyof Store) => {
        if (name === 'clockOffsetMs') return () => (offsetMs -= 50);
        const value = target[name];
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  await using spine = await SQLITE_MEMORY.open({ wrap });
  assert.equal((await create(spine)).state, 'queued');
  assert.equal((await claimNext(spine)).length, 1);
});

test('one failed look at the types does not end all claims', async () => {
  await using spine = await SQLITE_MEMORY.open({ wrap: failingReads({ types: 1 }) });
  await create(spine);
  await assert.rejects(claimNext(spine), { code: 'store_unavailable' });
  assert.equal((await claimNext(spine)).length, 1);
});

test('a store that cannot commit answers every command of the flush with the reason, and nothing happened', async () => {
  let broken = false;
  const wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name: keyof Store) => {
        if (name === 'transaction' && broken)
          return (lane: number, work: Parameters<Store['transaction']>[1]) =>
            target.transaction(lane, async (tx) => {
              await work(tx);
              throw new SpineError('disk_full');
            });
        const value = target[name];
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  await using spine = await SQLITE_MEMORY.open({ wrap });
  const job = await create(spine);
  broken = true;
  const ends = await Promise.allSettled([
    create(spine),
    create(spine),
    spine.engine.leases.claim({ name: 'w', role: 'worker', targets: null }, job.id),
  ]);
  assert.deepEqual(
    ends.map((end) => reasonOf(end)?.code),
    ['disk_full', 'disk_full', 'disk_full'],
  );
  broken = false;
  assert.deepEqual(await everyJob(spine), [job]);
  assert.deepEqual(await read(spine, job), job);
  assert.equal((await claimNext(spine)).length, 1);
});

onEvery([POSTGRES], (each) => {
  const another = async (spine: Opened): Promise<Opened> => (await spine.another?.()) as Opened;

  each('sees a type that another server made', async (spine) => {
    await using other = await another(spine);
    assert.deepEqual(await claimNext(spine, { types: ['theirs'] }), []);
    await create(other, { type: 'theirs' });
    await claimNext(spine, { types: ['theirs'] });
    const [held] = await claimNext(spine, { types: ['theirs'] });
    const first = held ?? (await everyJob(spine)).find((job) => job.state === 'running');
    assert.ok(first, 'a type of another server is never seen');
  });

  each('obeys a pause that another server was told', async (spine) => {
    await using other = await another(spine);
    await create(spine);
    await create(spine, { type: 't' });
    assert.equal((await claimNext(spine, { targets: ['nothing'] })).length, 0);
    await other.engine.routing.pause({ name: 'head', role: 'head', targets: null }, 'target', 'any');
    assert.deepEqual(await claimNext(spine, { max: 5 }), []);
    await other.engine.routing.resume({ name: 'head', role: 'head', targets: null }, 'target', 'any');
    await other.engine.routing.pause({ name: 'head', role: 'head', targets: null }, 'type', 't');
    const held = await claimNext(spine, { max: 5 });
    assert.deepEqual(
      held.map(({ job }) => job.typeNo),
      [0],
    );
  });
});
