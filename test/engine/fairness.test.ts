import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Client } from 'pg';
import type { Actor } from '../../src/domain/command.ts';
import type { SpineError } from '../../src/domain/error.ts';
import type { Job } from '../../src/domain/job.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import { FairQueue } from '../../src/engine/fair-queue.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import { until } from '../support/clock.ts';
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

/** As the garbage collector would at some time. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

suite('a queue that is fair', () => {
  test('lets go of what was taken, even while its line is never empty', async () => {
    const queue = queueOf(...pieces('flood', 3));
    const [kept] = queue.take(1).map((taken) => new WeakRef(taken)) as [WeakRef<Numbered>];
    // A weak reference keeps what it was made for until the round of the event loop ends.
    await new Promise(setImmediate);
    collectGarbage();
    assert.equal(kept.deref(), undefined);
    assert.equal(queue.size, 2);
  });

  test('keeps the order of arrival while everything fits', () => {
    const queue = queueOf(...pieces('a', 2), ...pieces('b', 1), ...pieces('a', 1));
    assert.deepEqual(names(queue.take(4)), ['a0', 'a1', 'b0', 'a0']);
    assert.deepEqual([queue.size, queue.take(4)], [0, []]);
  });

  test('takes one of each principal in rotation when it does not fit, and goes on where it stopped', () => {
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

interface Counting {
  readonly wrap: (store: Store) => Store;
  readonly commits: () => number;
  /** In which commit the job with this title was made. */
  readonly commitOf: (title: string) => number | undefined;
  /** Holds commits back until what it answers is called. */
  readonly hold: () => () => void;
}

/** Counts commits in the order in which they are begun. A job with the title that breaks it cannot be written. */
function counting(breakingTitle?: string): Counting {
  let held: Promise<void> | undefined;
  let commits = 0;
  const made = new Map<string | null, number>();
  const noting = (tx: Tx, commit: number): Tx => {
    const insert: Tx['jobs']['insert'] = (rows) => {
      for (const { input } of rows) made.set(input.title, commit);
      if (breakingTitle !== undefined && rows.some(({ input }) => input.title === breakingTitle))
        throw new Error('cannot be written');
      return tx.jobs.insert(rows);
    };
    return { ...tx, jobs: { ...tx.jobs, insert } };
  };
  const wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name: keyof Store) => {
        const value = target[name];
        if (name === 'transaction')
          return async (lane: number, work: Parameters<Store['transaction']>[1]) => {
            await held;
            const commit = ++commits;
            return target.transaction(lane, (tx) => work(noting(tx, commit)));
          };
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  };
  return { wrap, commits: () => commits, commitOf: (title) => made.get(title), hold };
}

/** How many jobs each commit makes that also locks some, as a heartbeat does. */
function madeBesideLocked(): { wrap: (store: Store) => Store; made: number[] } {
  const made: number[] = [];
  const noting = (tx: Tx): Tx => {
    let locks = false;
    const lock: Tx['jobs']['lock'] = (ids) => {
      locks = true;
      return tx.jobs.lock(ids);
    };
    const insert: Tx['jobs']['insert'] = (rows) => {
      if (locks) made.push(rows.length);
      return tx.jobs.insert(rows);
    };
    return { ...tx, jobs: { ...tx.jobs, lock, insert } };
  };
  const wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name: keyof Store) => {
        const value = target[name];
        if (name === 'transaction')
          return (lane: number, work: Parameters<Store['transaction']>[1]) =>
            target.transaction(lane, (tx) => work(noting(tx)));
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  return { wrap, made };
}

/** Keeps every lane but that of heartbeats from beginning anything, until it is let go of. */
function holdingLanes(): { wrap: (store: Store) => Store; hold: () => () => void } {
  let held: Promise<void> | undefined;
  const wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name: keyof Store) => {
        const value = target[name];
        if (name === 'transaction')
          return async (lane: number, work: Parameters<Store['transaction']>[1]) => {
            if (lane < target.lanes) await held;
            return target.transaction(lane, work);
          };
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  };
  return { wrap, hold };
}

/** Every lane and every reader has its connection: a transaction, a flush and reads at once take one each. */
async function connect({ engine }: Opened): Promise<void> {
  const look = engine.core.flusher.transact(SYSTEM, async (tx) => tx.routing.revision());
  const reads = Array.from({ length: READERS }, () => engine.pools.list());
  await Promise.all([look, create({ engine }, { target: 'elsewhere' }), ...reads]);
}

/** How often somebody has asked for a commit since. */
function countEntries({ engine }: Opened): () => number {
  const { flusher } = engine.core;
  const submit = flusher.submitTogether.bind(flusher);
  const transact = flusher.transact.bind(flusher);
  let entries = 0;
  flusher.submitTogether = (commands) => {
    entries++;
    return submit(commands);
  };
  flusher.transact = (actor, work) => {
    entries++;
    return transact(actor, work);
  };
  return () => entries;
}

interface Beat {
  /** `renewed`, or the code of its refusal. */
  readonly answer: Promise<string>;
  readonly decided: () => boolean;
}

function beat({ engine }: Pick<Opened, 'engine'>, { id, leaseToken }: Job): Beat {
  let isDecided = false;
  const answer = engine.leases
    .heartbeat(worker('w'), id, leaseToken, null)
    .then(() => 'renewed')
    .catch((error: SpineError) => error.code)
    .finally(() => (isDecided = true));
  return { answer, decided: () => isDecided };
}

/** Another client of the database, which holds rows of jobs. */
async function rowHolder({ place }: Opened) {
  const client = new Client({ connectionString: place });
  await client.connect();
  const waiting =
    'select distinct pid from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))';
  return {
    hold: async ({ no }: Job): Promise<void> => {
      await client.query('begin');
      await client.query('select 1 from job where no = $1 for update', [no]);
    },
    letGo: () => client.query('rollback'),
    /** Who waits for them. */
    waiting: async () => (await client.query<{ pid: number }>(waiting)).rows.map(({ pid }) => pid),
    cancel: (pid: number) => client.query('select pg_cancel_backend($1)', [pid]),
    [Symbol.asyncDispose]: () => client.end(),
  };
}

const READERS = 4;
const CROWD = 60;
/** What was under way when a call came, a transaction that came next, and the flush, on each lane. */
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
    /**
     * How many commits each call waits for behind a crowd of one principal's transactions. What a call reads before it
     * stands in line is no wait for others: commits begin when all have asked for theirs.
     */
    const behindCrowd = async (
      spine: Opened,
      calls: () => readonly Promise<unknown>[],
    ): Promise<readonly number[]> => {
      const entered = countEntries(spine);
      const letGo = count.hold();
      const crowd = Array.from({ length: CROWD }, (_, i) =>
        spine.engine.messages.send(HEAD, { kind: 'text', to: 'somebody', body: `message ${i}` }),
      );
      const waits = calls().map(after);
      await until('all stand in line', () => entered() === crowd.length + waits.length).finally(letGo);
      await Promise.all(crowd);
      return Promise.all(waits);
    };

    each(
      `a heartbeat, a create and a claim pass a crowd of transactions within a few commits, with ${lanes} lanes`,
      async (spine) => {
        const held = await claimed(spine, await create(spine));
        await connect(spine);
        // Head stands in the crowd himself: his commands are of another kind.
        const waits = await behindCrowd(spine, () => [
          // With a lane of its own it waits for no commit of others, however many they make meanwhile.
          ...(spine.store.heartbeatLanes === null
            ? [spine.engine.leases.heartbeat(worker('w'), held.id, held.leaseToken, null)]
            : []),
          create(spine),
          // One is there: where there is none it would look again while others look at the one just made.
          spine.engine.leases.claimNext(worker('v'), { targets: ['elsewhere'], max: 1, waitMs: 0 }),
        ]);
        for (const commits of waits) assert.ok(commits <= FEW_COMMITS * lanes, `${waits.join(', ')} commits`);
      },
      options,
    );

    each(
      `transactions of others and of the loops pass a crowd of one principal's, with ${lanes} lanes`,
      async (spine) => {
        await connect(spine);
        const waits = await behindCrowd(spine, () => [
          spine.engine.core.flusher.transact(worker('other'), async (tx) => tx.routing.revision()),
          spine.engine.core.flusher.transact(SYSTEM, async (tx) => tx.routing.revision()),
        ]);
        for (const commits of waits) assert.ok(commits <= FEW_COMMITS * lanes, `${waits.join(', ')} commits`);
      },
      options,
    );

    each(
      `transactions are served beside commands without end, with ${lanes} lanes`,
      async (spine) => {
        const work = { going: true };
        const held = await claimed(spine, await create(spine));
        const endless = async (): Promise<void> => {
          while (work.going) await spine.engine.leases.heartbeat(worker('w'), held.id, held.leaseToken, null);
        };
        const loops = Array.from({ length: 4 }, endless);
        const look = spine.engine.core.flusher.transact(HEAD, async (tx) => tx.routing.revision());
        const commits = await after(look);
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
      await create(spine, { title: 'small' });
      await Promise.all(sent);
      const commit = (large.commitOf('small') ?? Infinity) - before;
      // Last in line it would be in the eighth or ninth.
      assert.ok(commit <= 3, `commit ${commit} of ${large.commits() - before}`);
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

  if (kind.dialect === 'postgres') {
    const beside = madeBesideLocked();
    each(
      'a heartbeat shares no commit with what is large',
      async (spine) => {
        await connect(spine);
        const held = await claimed(spine, await create(spine));
        beside.made.length = 0;
        const spec = { text: 'x'.repeat(300_000) };
        const large = Array.from({ length: 12 }, () => create(spine, { spec }));
        await spine.engine.leases.heartbeat(worker('w'), held.id, held.leaseToken, null);
        await Promise.all(large);
        assert.deepEqual(beside.made, []);
      },
      { wrap: beside.wrap },
    );
  }

  if (kind.dialect === 'postgres') {
    const busy = holdingLanes();
    each(
      'a heartbeat is decided while every other lane is busy',
      async (spine) => {
        const held = await claimed(spine, await create(spine));
        const letGo = busy.hold();
        const made = Array.from({ length: 4 }, () => create(spine));
        const renewed = beat(spine, held);
        await until('it is decided', () => renewed.decided()).finally(letGo);
        assert.equal(await renewed.answer, 'renewed');
        await Promise.all(made);
      },
      { wrap: busy.wrap },
    );

    each('a heartbeat of a job whose row somebody holds keeps no other waiting', async (spine) => {
      const [a, b] = [await claimed(spine, await create(spine)), await claimed(spine, await create(spine))];
      await using holder = await rowHolder(spine);
      await holder.hold(a);
      const [heldUp, free] = [beat(spine, a), beat(spine, b)];
      assert.equal(await free.answer, 'renewed');
      await until('it waits for the row', async () => (await holder.waiting()).length === 1);
      assert.equal(await beat(spine, b).answer, 'renewed');
      assert.equal(heldUp.decided(), false);
      await holder.letGo();
      assert.equal(await heldUp.answer, 'renewed');
    });

    each('of heartbeats that wait for rows, one that waits too long fails alone', async (spine) => {
      const [a, b] = [await claimed(spine, await create(spine)), await claimed(spine, await create(spine))];
      await using holder = await rowHolder(spine);
      await using other = await rowHolder(spine);
      await holder.hold(a);
      await other.hold(b);
      const [heldUp, passing] = [beat(spine, a), beat(spine, b)];
      await until('they wait for the first row', async () => (await holder.waiting()).length === 1);
      await other.letGo();
      // As when its time is up.
      for (const pid of await holder.waiting()) await holder.cancel(pid);
      assert.deepEqual([await heldUp.answer, await passing.answer], ['store_unavailable', 'renewed']);
      await spine.engine.core.flusher.heard();
    });

    each('a heartbeat of a job that is not there is told so', async (spine) => {
      const held = await claimed(spine, await create(spine));
      const [lost, renewed] = [beat(spine, { ...held, id: 'none' }), beat(spine, held)];
      assert.deepEqual([await lost.answer, await renewed.answer], ['not_found', 'renewed']);
    });
  }

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
