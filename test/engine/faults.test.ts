import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpineError } from '../../src/domain/error.ts';
import type { Job } from '../../src/domain/job.ts';
import { settler } from '../../src/loops/settler.ts';
import type { Reads, Store, Tx } from '../../src/store/store.ts';
import { rest } from '../support/clock.ts';
import {
  reasonOf,
  claimNext,
  create,
  DIALECTS,
  finished,
  HEAD,
  onEvery,
  POSTGRES,
  read,
  refusal,
  stateOf,
  SQLITE_MEMORY,
  type Opened,
  worker,
} from '../support/engines.ts';
import { unknownClaimKeeper } from '../../src/loops/keepers.ts';
import { everyJob } from '../conformance/events.ts';

/** A store whose verb fails at its first call. */
function failingOnce<Noun extends keyof Reads>(noun: Noun, verb: keyof Reads[Noun]): (store: Store) => Store {
  return (store) => {
    let failed = false;
    const verbs = new Proxy(store.read[noun], {
      get: (target, name) => {
        if (failed || name !== verb) return Reflect.get(target, name) as unknown;
        failed = true;
        return () => Promise.reject(new SpineError('store_unavailable'));
      },
    });
    const read: Reads = { ...store.read, [noun]: verbs };
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
  await using spine = await SQLITE_MEMORY.open({ wrap: failingOnce('routing', 'current') });
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
  await using spine = await SQLITE_MEMORY.open({ wrap: failingOnce('types', 'all') });
  await create(spine);
  await assert.rejects(claimNext(spine), { code: 'store_unavailable' });
  assert.equal((await claimNext(spine)).length, 1);
});

onEvery(DIALECTS, (each) => {
  let poisoned = 0;
  const wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name: keyof Store) => {
        const value = target[name];
        if (name !== 'transaction')
          return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
        const transaction: Store['transaction'] = (lane, work, ...more) =>
          target.transaction(lane, (tx) => work(withPoison(tx, () => poisoned)), ...more);
        return transaction;
      },
    });
  each(
    'a job that cannot be settled holds up no other one',
    async (spine) => {
      const ended = [await create(spine), await create(spine), await create(spine)];
      const waiting: Job[] = [];
      for (const { id } of ended) waiting.push(await create(spine, { after: [{ job: id }] }));
      poisoned = ended[0]?.no ?? 0;
      for (const job of ended) await finished(spine, job);
      await assert.rejects(settler(spine.engine.core).runOnce(), { message: 'poison' });
      const states = async () => Promise.all(waiting.map((job) => stateOf(spine, job)));
      assert.deepEqual(await states(), ['blocked', 'queued', 'queued']);
      poisoned = 0;
      await settler(spine.engine.core).runOnce();
      assert.deepEqual(await states(), ['queued', 'queued', 'queued']);
    },
    { wrap },
  );
});

/** A transaction in which the dependents of one job cannot be found. */
function withPoison(tx: Tx, no: () => number): Tx {
  const dependencies = new Proxy(tx.dependencies, {
    get: (target, name) =>
      name === 'waiting'
        ? (root: number) => (root === no() ? Promise.reject(new Error('poison')) : target.waiting(root))
        : (Reflect.get(target, name) as unknown),
  });
  return new Proxy(tx, {
    get: (target, name) => {
      if (name === 'dependencies') return dependencies;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
}

test('a stop waits for the commit under way, and for what was asked before it', async () => {
  const mayCommit = Promise.withResolvers<void>();
  const wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name: keyof Store) => {
        if (name === 'transaction')
          return async (lane: number, work: Parameters<Store['transaction']>[1]) => {
            await mayCommit.promise;
            return target.transaction(lane, work);
          };
        const value = target[name];
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  await using spine = await SQLITE_MEMORY.open({ wrap });
  const { flusher } = spine.engine.core;
  const underWay = create(spine);
  await rest();
  const behind = create(spine);
  await rest();
  let stopped = false;
  const stop = flusher.stop().then(() => (stopped = true));
  await rest();
  assert.equal(stopped, false, 'the commit is still under way');
  mayCommit.resolve();
  await stop;
  const made = await Promise.all([underWay, behind]);
  assert.deepEqual(
    (await everyJob(spine)).map(({ id }) => id),
    made.map(({ id }) => id),
  );
  assert.equal(await refusal(create(spine)), 'shutting_down');
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

/** A store that saves, and loses the word on it, as often as told. */
function losingWord(losing: { times: number }): (store: Store) => Store {
  return (store) =>
    new Proxy(store, {
      get: (target, name: keyof Store) => {
        if (name === 'transaction' && losing.times > 0)
          return async (lane: number, work: Parameters<Store['transaction']>[1]) => {
            losing.times -= 1;
            await target.transaction(lane, work);
            throw new SpineError('outcome_unknown');
          };
        const value = target[name];
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
}

onEvery(DIALECTS, (each) => {
  const losing = { times: 0 };
  const wrap = losingWord(losing);

  each(
    'never does again what may have been done',
    async (spine) => {
      losing.times = 1;
      const ends = await Promise.allSettled([create(spine), create(spine)]);
      assert.deepEqual(
        ends.map((end) => reasonOf(end)?.code),
        ['outcome_unknown', 'outcome_unknown'],
      );
      assert.equal((await everyJob(spine)).length, 2);
    },
    { wrap },
  );

  each(
    'answers the repeat of a call with a key by what the lost commit made',
    async (spine) => {
      const call = () => spine.engine.jobs.create(HEAD, [{ target: 'any' }], { key: 'k', bodyHash: 'h' });
      losing.times = 1;
      assert.equal(await refusal(call()), 'outcome_unknown');
      const { jobs } = await call();
      assert.deepEqual(
        (await everyJob(spine)).map(({ id }) => id),
        jobs.map(({ id }) => id),
      );
    },
    { wrap },
  );

  each(
    'gives back what was claimed in a lost commit, and counts no attempt',
    async (spine) => {
      const [first, second] = [await create(spine), await create(spine)];
      losing.times = 1;
      assert.equal(await refusal(claimNext(spine)), 'outcome_unknown');
      losing.times = 1;
      assert.equal(await refusal(spine.engine.leases.claim(worker('w'), second.id)), 'outcome_unknown');
      const keeper = unknownClaimKeeper(spine.engine.core);
      losing.times = 1;
      await keeper.runOnce();
      assert.equal((await keeper.runOnce()).done, 2, 'a release whose word was lost is sent again');
      for (const job of [first, second]) {
        const { state, attempts, leaseToken } = await read(spine, job);
        assert.deepEqual([state, attempts, leaseToken], ['queued', 0, null]);
      }
      assert.equal((await keeper.runOnce()).done, 0);
      assert.equal((await claimNext(spine, { max: 2 })).length, 2);
    },
    { wrap, lanes: 1 },
  );

  each(
    'leaves a named claim to the one who asks for it again',
    async (spine) => {
      const job = await create(spine);
      losing.times = 1;
      assert.equal(await refusal(claimNext(spine, { claimId: 'mine' })), 'outcome_unknown');
      await unknownClaimKeeper(spine.engine.core).runOnce();
      const [held] = await claimNext(spine, { claimId: 'mine' });
      assert.deepEqual([held?.job.id, held?.job.attempts], [job.id, 1]);
    },
    { wrap },
  );
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
