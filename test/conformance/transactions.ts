import assert from 'node:assert/strict';
import type { Job } from '../../src/domain/job.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import { rest, until } from '../support/clock.ts';
import {
  claimed,
  claimNext,
  create,
  createMany,
  type Each,
  eventKinds,
  HEAD,
  type Opened,
  outboxSize,
  read,
  stateOf,
  worker,
} from '../support/engines.ts';
import { everyJob } from './events.ts';
import { insert, row } from './rows.ts';

export function transactionTopics(each: Each): void {
  each('leaves nothing of a transaction that threw', async (spine) => {
    const { store } = spine;
    const [job] = (await insert(store, [row()])) as [Job];
    const before = await dump(spine, job);
    const work = store.transaction(0, async (tx) => {
      await writeEverywhere(tx, job);
      throw new Error('after all of it');
    });
    await assert.rejects(work, /after all of it/);
    assert.deepEqual(await dump(spine, job), before);
  });

  each('leaves nothing when the database refuses one of the writes', async (spine) => {
    const { store } = spine;
    const [job] = (await insert(store, [row()])) as [Job];
    const before = await dump(spine, job);
    const work = store.transaction(0, async (tx) => {
      await writeEverywhere(tx, job);
      await tx.jobs.insert([row({ id: job.id })]);
    });
    await assert.rejects(work, /unique/i);
    assert.deepEqual(await dump(spine, job), before);
  });

  each('leaves nothing when a write that nobody waited for fails', async (spine) => {
    const { store } = spine;
    const [job] = (await insert(store, [row()])) as [Job];
    const before = await dump(spine, job);
    const comment = { jobNo: job.no, seq: 1, at: 1, by: 'x', text: 'twice the same number' };
    const work = store.transaction(0, async (tx) => {
      tx.defer(
        tx.jobs.update([
          {
            before: job,
            after: { ...job, reason: 'often', priority: 7, runAt: 7, waitingFor: 7 },
            kind: 'other',
          },
        ]),
      );
      tx.defer(rejectedLater(() => tx.comments.add([comment, comment])));
    });
    await assert.rejects(work, /unique/i);
    assert.deepEqual(await dump(spine, job), before);
  });

  each('finds a running job by its id as it was last written by its number', async (spine) => {
    const { store } = spine;
    const [job] = (await insert(store, [row()])) as [Job];
    const byId = (): Promise<Job[]> => store.transaction(0, async (tx) => tx.jobs.lock([job.id]));
    const changeByNo = (change: Partial<Job>): Promise<void> =>
      store.transaction(0, async (tx) => {
        const [before] = (await tx.jobs.lockByNo([job.no])) as [Job];
        await tx.jobs.update([{ before, after: { ...before, ...change }, kind: 'other' }]);
      });
    const running = { state: 'running', leaseToken: 'token', leaseUntil: 9_000 } as const;
    const queued = { state: 'queued', leaseToken: null, leaseUntil: null } as const;
    const steps = [
      running,
      { leaseUntil: 9_500 },
      { cancelRequested: true },
      queued,
      running,
      queued,
    ] as const;
    let expected = job;
    for (const step of steps) {
      await changeByNo(step);
      expected = { ...expected, ...step };
      assert.deepEqual(await byId(), [expected]);
      await changeByNo({});
    }
  });

  each('has both halves of a row in the same commit', async (spine) => {
    const { store } = spine;
    const [job] = (await insert(store, [row()])) as [Job];
    const seen = new Set<string>();
    const writer = { going: true };
    const reader = (async () => {
      while (writer.going) {
        await rest(1);
        const [now] = await store.read.jobs.byNo([job.no]);
        seen.add(String(now?.attempts === now?.priority));
      }
    })();
    let before = job;
    for (let n = 1; n <= 60; n++) {
      const after = { ...before, attempts: n, priority: n };
      await store.transaction(0, async (tx) => tx.defer(tx.jobs.update([{ before, after, kind: 'other' }])));
      before = after;
      await rest(1);
    }
    writer.going = false;
    await reader;
    assert.deepEqual([...seen], ['true']);
  });

  each('works on after a transaction that failed', async (spine) => {
    await assert.rejects(
      spine.store.transaction(0, () => Promise.reject(new Error('no'))),
      /no/,
    );
    const job = await create(spine);
    assert.equal(await stateOf(spine, job), 'queued');
  });

  each('fails a command that throws alone, while the others of its flush succeed', async (spine) => {
    const jobs = await createMany(spine, 2);
    await create(spine, { target: 'b' });
    const ends = await Promise.allSettled([
      spine.engine.leases.claim(worker('w'), jobs[0]?.id ?? ''),
      create(spine, { title: 'good' }),
      create(spine, { priority: Number.NaN }),
      spine.engine.jobs.comment(HEAD, jobs[1]?.id ?? '', 'hello'),
      claimNext(spine, { targets: ['b'] }),
      create(spine, { title: 'good too' }),
    ]);
    assert.deepEqual(
      ends.map((end) => end.status),
      ['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
    );
    assert.equal((await everyJob(spine)).length, 5);
    assert.deepEqual(await eventKinds(spine, jobs[0] as Job), ['job.created', 'job.claimed']);
    assert.deepEqual(await counts(spine), { queued: 3, running: 2 });
  });

  each('lets commands on one job in one flush see each other, in the order of asking', async (spine) => {
    const job = await create(spine);
    const [claim, second, complete, comment] = await Promise.allSettled([
      spine.engine.leases.claim(worker('w'), job.id),
      spine.engine.leases.claim(worker('v'), job.id),
      spine.engine.leases.complete(HEAD, job.id, null, 'ok'),
      spine.engine.jobs.comment(HEAD, job.id, 'after the end'),
    ]);
    assert.deepEqual(
      [claim, second, complete, comment].map((end) => end?.status),
      ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    );
    assert.deepEqual(await eventKinds(spine, job), [
      'job.created',
      'job.claimed',
      'job.completed',
      'job.comment',
    ]);
    assert.equal(await stateOf(spine, job), 'done');
  });

  each('writes the time it is told, not the time it is', async (spine) => {
    const { engine, clock } = spine;
    await clock.advance(86_400_000);
    const now = engine.now();
    const job = await create(spine);
    assert.equal(job.createdAt, now);
    await clock.advance(3_600_000);
    const held = await claimed(spine, job);
    assert.equal(held.updatedAt, now + 3_600_000);
    const events = await engine.jobs.events(HEAD, job.id, 0, 10);
    assert.deepEqual(
      events.map((event) => event.at),
      [now, now + 3_600_000],
    );
    assert.deepEqual(await engine.jobs.events(HEAD, job.id, 1, 10), events.slice(1));
    assert.deepEqual(await read(spine, job), held);
  });

  const held = { begun: Promise.withResolvers<void>(), released: Promise.withResolvers<void>() };
  each(
    'is not stopped before the commit under way, and the commands behind it, are durable',
    async (spine) => {
      const first = create(spine, { target: 'under-way' });
      await held.begun.promise;
      const behind = [create(spine, { target: 'behind' }), create(spine, { target: 'behind' })];
      await until('they wait', () => spine.engine.core.flusher.pending === behind.length);
      const ended: string[] = [];
      const stopped = spine.engine.core.flusher.stop().then(() => ended.push('stopped'));
      const commands = Promise.all([first, ...behind]).then(() => ended.push('commands'));
      await rest();
      assert.deepEqual(ended, []);
      held.released.resolve();
      await Promise.all([stopped, commands]);
      assert.equal(ended.length, 2);
      assert.deepEqual(await spine.store.read.counters.all(), [
        { target: 'behind', state: 'queued', n: 2 },
        { target: 'under-way', state: 'queued', n: 1 },
      ]);
    },
    { lanes: 1, wrap: (store) => holdingCommits(store, held) },
  );

  each('answers no command after it was told to stop, and finishes those before', async (spine) => {
    const job = await create(spine);
    const early = spine.engine.jobs.comment(HEAD, job.id, 'in time');
    const stopped = spine.engine.core.flusher.stop();
    await assert.rejects(spine.engine.jobs.comment(HEAD, job.id, 'too late'), { code: 'shutting_down' });
    assert.equal((await early).job.comments, 1);
    await stopped;
    assert.deepEqual(
      (await spine.store.read.comments.after(job.no, 0, 9)).map(({ text }) => text),
      ['in time'],
    );
  });
}

/** Runs after the caller has gone on, as a pipelined write does. */
async function rejectedLater(write: () => unknown): Promise<void> {
  await write();
}

async function writeEverywhere(tx: Tx, job: Job): Promise<void> {
  const [no = 0] = await tx.jobs.insert([row({}, { tags: ['t'], title: 'x' })]);
  await tx.jobs.update([
    { before: job, after: { ...job, state: 'running', priority: 99, leaseToken: 'x' }, kind: 'other' },
  ]);
  await tx.jobs.saveOutcomes([{ jobNo: job.no, result: '1', error: null }]);
  await tx.comments.add([{ jobNo: job.no, seq: 1, at: 1, by: 'x', text: 'x' }]);
  await tx.logs.add([{ jobNo: job.no, attempt: 1, line: { at: 1, level: 'info', text: 'x' } }]);
  await tx.feed.add([{ jobNo: job.no, seq: 1, at: 1, kind: 'job.comment', by: 'x', facts: null }], 1);
  await tx.counters.add('9', [{ target: 'any', state: 'queued', by: 5 }]);
  await tx.outbox.add([{ channel: 'c', kind: 'k', jobNo: null, body: '{}', at: 1 }]);
  await tx.idempotency.remember([{ principal: 'p', key: 'k', bodyHash: 'h', jobIds: [], at: 1 }]);
  await tx.dependencies.add([{ jobNo: no, parentNo: job.no, on: 'success', met: false }]);
  await tx.pools.save({ name: 'pool', capacity: 2, perKey: 1 }, 1);
  await tx.routing.pause({ kind: 'target', name: 'any', at: 1, by: 'x', untilAt: null });
  await tx.types.save(
    {
      name: 'type',
      label: 'x',
      sop: null,
      paramsSchema: null,
      maxRetries: 3,
      backoffMs: null,
      scoring: null,
      provider: null,
      onlyIfMissing: false,
    },
    1,
  );
  await tx.servers.beat('server', 5);
  await tx.meta.set('m', 'v');
}

/** Everything that `writeEverywhere` could leave behind. */
async function dump({ store }: Pick<Opened, 'store'>, job: Job): Promise<unknown> {
  const { read } = store;
  return {
    jobs: await read.jobs.list({
      states: ['queued', 'running'],
      targets: null,
      typeNo: null,
      tag: null,
      retries: false,
      order: 'oldest',
      from: null,
      limit: 100,
    }),
    details: [...(await read.details.of([job]))],
    comments: await read.comments.after(job.no, 0, 9),
    logs: await read.logs.after(job.no, 0, 10),
    events: await read.feed.ofJob(job.no, 0, 10),
    counts: await read.counters.all(),
    outbox: await outboxSize(store),
    pools: await read.pools.all(),
    pauses: (await read.routing.current()).pauses,
    revision: (await read.routing.current()).revision,
    types: await read.types.all(),
    beats: await read.servers.beats(),
    meta: await read.meta.get('m'),
    key: await store.transaction(0, async (tx) => tx.idempotency.find({ principal: 'p', key: 'k' })),
  };
}

async function counts({ engine }: Pick<Opened, 'engine'>): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { state, n } of await engine.counts()) sums[state] = (sums[state] ?? 0) + n;
  return sums;
}

/** A store whose transactions stand before their commit until they are let go. */
function holdingCommits(
  store: Store,
  { begun, released }: { begun: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> },
): Store {
  return new Proxy(store, {
    get: (target, name: keyof Store) => {
      if (name === 'transaction')
        return (lane: number, work: Parameters<Store['transaction']>[1]) =>
          target.transaction(lane, async (tx) => {
            const value = await work(tx);
            begun.resolve();
            await released.promise;
            return value;
          });
      const value = target[name];
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
}
