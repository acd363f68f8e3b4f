import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Actor } from '../../src/domain/command.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import { FairQueue } from '../../src/engine/fair-queue.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import {
  claimed,
  create,
  createMany,
  DIALECTS,
  HEAD,
  onEvery,
  type Opened,
  read,
  refusal,
  SYSTEM,
  worker,
} from '../support/engines.ts';

interface Numbered {
  readonly actor: Actor;
  readonly weight: number;
  readonly no: number;
}

function pieces(name: string, count: number, weight = 1): Numbered[] {
  return Array.from({ length: count }, (_, no) => ({ actor: worker(name), weight, no }));
}

function queueOf(...items: readonly Numbered[]): FairQueue<Numbered> {
  const queue = new FairQueue<Numbered>();
  for (const item of items) queue.push(item);
  return queue;
}

const names = (taken: readonly Numbered[]): string[] => taken.map(({ actor, no }) => `${actor.name}${no}`);

suite('a queue that is fair', () => {
  test('keeps the order of arrival while everything fits', () => {
    const queue = queueOf(...pieces('a', 2), ...pieces('b', 1), ...pieces('a', 1));
    assert.deepEqual(names(queue.take(4)), ['a0', 'a1', 'b0', 'a0']);
    assert.deepEqual([queue.size, queue.take(4)], [0, []]);
  });

  test('takes one of each principal in turn when it does not fit, and goes on where it stopped', () => {
    const queue = queueOf(...pieces('a', 5), ...pieces('b', 2), ...pieces('c', 1));
    assert.deepEqual(names(queue.take(4)), ['a0', 'b0', 'c0', 'a1']);
    queue.push({ actor: worker('d'), weight: 1, no: 0 });
    assert.deepEqual(names(queue.take(3)), ['b1', 'a2', 'd0']);
    assert.deepEqual(names(queue.take(9)), ['a3', 'a4']);
    assert.equal(queue.size, 0);
  });

  test('takes what is too heavy for any commit by itself, and lets others go before its next', () => {
    const queue = queueOf(...pieces('heavy', 3, 2_000), ...pieces('light', 2));
    assert.deepEqual(names(queue.take(1_000)), ['heavy0']);
    assert.deepEqual(names(queue.take(1_000)), ['light0', 'heavy1']);
    assert.deepEqual(names(queue.take(0)), []);
    assert.deepEqual(names(queue.take(1)), ['light1']);
  });

  test('gives every run a line of its own, whoever holds it', () => {
    const run = (onlyJob: string): Actor => ({ ...worker('w'), role: 'run', onlyJob });
    const queue = new FairQueue<Numbered>();
    for (let no = 0; no < 3; no++) queue.push({ actor: run('1'), weight: 1, no });
    queue.push({ actor: run('2'), weight: 1, no: 9 });
    assert.deepEqual(
      queue.take(2).map(({ no }) => no),
      [0, 9],
    );
  });

  test('refuses those who fill it, and still lets in who has less than his share', () => {
    const queue = queueOf(...pieces('a', 10));
    assert.equal(queue.isFullFor(worker('a'), 11), false);
    assert.equal(queue.isFullFor(worker('a'), 10), true);
    assert.equal(queue.isFullFor(worker('b'), 10), false);
    for (const piece of pieces('b', 10)) queue.push(piece);
    assert.equal(queue.isFullFor(worker('c'), 10), true, 'nothing grows without end');
  });

  test('forgets what was taken from a line that is never empty', () => {
    const queue = queueOf(...pieces('a', 3), ...pieces('b', 3));
    queue.take(1);
    for (let no = 0; no < 5_000; no++) {
      queue.push({ actor: worker('a'), weight: 1, no });
      assert.equal(queue.take(1).length, 1);
    }
    assert.equal(queue.size, 5);
  });
});

/** Counts commits. A job with the title that breaks it cannot be written. */
function counting(breakingTitle?: string): { wrap: (store: Store) => Store; commits: () => number } {
  const breaking = (tx: Tx): Tx =>
    new Proxy(tx, {
      get: (target, name: keyof Tx) => {
        const value = target[name];
        if (name === 'insertJobs')
          return (rows: Parameters<Tx['insertJobs']>[0]) => {
            if (rows.some(({ input }) => input.title === breakingTitle)) throw new Error('cannot be written');
            return target.insertJobs(rows);
          };
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  let commits = 0;
  const wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name: keyof Store) => {
        const value = target[name];
        if (name === 'transaction')
          return async (lane: number, work: Parameters<Store['transaction']>[1]) => {
            commits++;
            return target.transaction(lane, (tx) => work(breakingTitle === undefined ? tx : breaking(tx)));
          };
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  return { wrap, commits: () => commits };
}

/** Every lane has its connection: a transaction and a flush at once take one each. */
async function connect({ engine }: Opened): Promise<void> {
  const look = engine.core.flusher.transact(SYSTEM, async (tx) => tx.routingRevision());
  await Promise.all([look, create({ engine }, { target: 'elsewhere' })]);
}

const CROWD = 60;
/** What was under way when a call came, a transaction whose turn it was, and the flush, on each lane; a claim looks twice. */
const FEW_COMMITS = 8;

onEvery(DIALECTS, (each, kind) => {
  for (const lanes of kind.dialect === 'postgres' ? [1, 2] : [1]) {
    const count = counting();
    const options = { wrap: count.wrap, lanes };
    const after = async (call: Promise<unknown>): Promise<number> => {
      const before = count.commits();
      await call;
      return count.commits() - before;
    };
    const crowd = (spine: Opened, by: Actor): Promise<unknown>[] =>
      Array.from({ length: CROWD }, (_, i) =>
        spine.engine.messages.send(by, { kind: 'note', body: `message ${i}` }),
      );

    each(
      `a heartbeat, a create and a claim pass a crowd of transactions within a few commits, with ${lanes} lanes`,
      async (spine) => {
        const held = await claimed(spine, await create(spine));
        await connect(spine);
        const sent = crowd(spine, HEAD);
        // Head stands in the crowd himself: his commands are of another kind.
        const waits = await Promise.all([
          after(spine.engine.leases.heartbeat(worker('w'), held.id, held.leaseToken, null)),
          after(create(spine)),
          after(spine.engine.leases.claimNext(worker('v'), { targets: ['any'], max: 1, waitMs: 0 })),
        ]);
        await Promise.all(sent);
        for (const commits of waits) assert.ok(commits <= FEW_COMMITS * lanes, `${commits} commits`);
      },
      options,
    );

    each(
      `transactions of others and of the loops pass a crowd of one principal's, with ${lanes} lanes`,
      async (spine) => {
        await connect(spine);
        const sent = crowd(spine, HEAD);
        const waits = await Promise.all([
          after(spine.engine.core.flusher.transact(worker('other'), async (tx) => tx.routingRevision())),
          after(spine.engine.core.flusher.transact(SYSTEM, async (tx) => tx.routingRevision())),
        ]);
        await Promise.all(sent);
        for (const commits of waits) assert.ok(commits <= FEW_COMMITS * lanes, `${commits} commits`);
      },
      options,
    );

    each(
      `transactions get their turn beside commands without end, with ${lanes} lanes`,
      async (spine) => {
        const work = { going: true };
        const held = await claimed(spine, await create(spine));
        const endless = async (): Promise<void> => {
          while (work.going) await spine.engine.leases.heartbeat(worker('w'), held.id, held.leaseToken, null);
        };
        const loops = Array.from({ length: 4 }, endless);
        const commits = await after(spine.engine.messages.send(HEAD, { kind: 'note', body: 'hello' }));
        work.going = false;
        await Promise.all(loops);
        assert.ok(commits <= FEW_COMMITS * lanes, `${commits} commits`);
      },
      options,
    );
  }

  each('claims of another worker pass a crowd of huge ones', async (spine) => {
    await createMany(spine, 50, { target: 'small' });
    const claim = (by: string, target: string, max: number): Promise<unknown> =>
      spine.engine.leases.claimNext(worker(by), { targets: [target], max, waitMs: 0 });
    const order: string[] = [];
    const huge = Array.from({ length: 20 }, () =>
      claim('greedy', 'nothing', LIMITS.claimJobs).then(() => order.push('huge')),
    );
    await claim('modest', 'small', 1).then(() => order.push('modest'));
    await Promise.all(huge);
    assert.ok(order.indexOf('modest') <= 2, order.join(' '));
  });

  const large = counting();
  each(
    'creates of another principal pass a crowd of large ones',
    async (spine) => {
      await connect(spine);
      const spec = { text: 'x'.repeat(900_000) };
      const before = large.commits();
      const sent = Array.from({ length: 40 }, () =>
        spine.engine.jobs.create({ ...HEAD, name: 'greedy' }, [{ target: 'any', spec }]),
      );
      await create(spine);
      const commits = large.commits() - before;
      await Promise.all(sent);
      // Last in line it would be in the eighth or ninth; other lanes may commit while its own does.
      assert.ok(commits <= 6, `${commits} of ${large.commits() - before} commits`);
    },
    { wrap: large.wrap },
  );

  const broken = counting('poison');
  each(
    'a command that breaks its flush fails alone, and costs the others a few commits',
    async (spine) => {
      await connect(spine);
      const held = await claimed(spine, await create(spine));
      const before = broken.commits();
      const made = Array.from({ length: 500 }, (_, i) =>
        create(spine, { title: i === 321 ? 'poison' : 'well' }).then(
          () => 'made',
          () => 'failed',
        ),
      );
      const beat = spine.engine.leases.heartbeat(worker('w'), held.id, held.leaseToken, null);
      const ends = await Promise.all(made);
      assert.equal((await beat).ok, true);
      assert.deepEqual([ends.indexOf('failed'), ends.lastIndexOf('failed')], [321, 321]);
      assert.ok(broken.commits() - before < 40, `${broken.commits() - before} commits`);
    },
    { wrap: broken.wrap },
  );

  each('a heartbeat is taken while commands of others fill the queue', async (spine) => {
    const held = await claimed(spine, await create(spine));
    const { flusher } = spine.engine.core;
    const comment = (): Promise<unknown> =>
      spine.engine.jobs.comment(worker('greedy'), held.id, 'x').catch((error: unknown) => error);
    const sent = Array.from({ length: LIMITS.pendingCommands }, comment);
    assert.equal(flusher.pending, LIMITS.pendingCommands);
    assert.equal(await refusal(spine.engine.jobs.comment(worker('greedy'), held.id, 'x')), 'overloaded');
    const beats = spine.engine.leases.heartbeat(worker('w'), held.id, held.leaseToken, null);
    const made = create(spine);
    assert.equal((await beats).ok, true);
    assert.equal((await made).state, 'queued');
    await Promise.all(sent);
  });

  each('says when all heartbeats that had come are decided', async (spine) => {
    const held = await claimed(spine, await create(spine));
    const { flusher } = spine.engine.core;
    await flusher.heard();
    await spine.clock.advance(5_000);
    void spine.engine.leases.heartbeat(worker('w'), held.id, held.leaseToken, null);
    await flusher.heard();
    assert.equal((await read(spine, held)).leaseUntil, (held.leaseUntil ?? 0) + 5_000);
  });
});
