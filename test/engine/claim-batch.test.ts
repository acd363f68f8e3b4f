import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClaimedJob } from '../../src/domain/command.ts';
import { systemIds } from '../../src/runtime/ids.ts';
import type { Store } from '../../src/store/store.ts';
import { numberAll } from '../conformance/events.ts';
import { FakeClock, rest, type TestClock, until } from '../support/clock.ts';
import {
  claimNext,
  create,
  createMany,
  DIALECTS,
  eventKinds,
  HEAD,
  onEvery,
  type Opened,
  read,
  ENGINES,
  SQLITE_FILE,
  SQLITE_MEMORY,
  worker,
} from '../support/engines.ts';

onEvery(DIALECTS, (each) => {
  each('gives nothing when there is nothing, and only what the claimer asked for', async (spine) => {
    assert.deepEqual(await claimNext(spine), []);
    await create(spine, { target: 'a' });
    assert.deepEqual(await claimNext(spine, { targets: ['b'] }), []);
    assert.equal((await claimNext(spine, { targets: ['b', 'a'] })).length, 1);
  });

  each('takes at most as many as asked for, the best first', async (spine) => {
    const jobs = await createMany(spine, 5);
    assert.deepEqual(ids(await claimNext(spine, { max: 2 })), ids2(jobs.slice(0, 2)));
    assert.deepEqual(ids(await claimNext(spine, { max: 10 })), ids2(jobs.slice(2)));
  });

  each('takes only the types it was asked to take, in priority order across them', async (spine) => {
    const a = await create(spine, { type: 'a' });
    const b = await create(spine, { type: 'b', priority: 5 });
    const none = await create(spine, { priority: 9 });
    assert.deepEqual(ids(await claimNext(spine, { types: ['c'], max: 9 })), []);
    assert.deepEqual(ids(await claimNext(spine, { types: ['a', 'b'], max: 9 })), [b.id, a.id]);
    assert.deepEqual(ids(await claimNext(spine, { max: 9 })), [none.id]);
  });

  each(
    'never hands out work for a target that the claimer does not serve, and does not spin on it',
    async (spine) => {
      const job = await create(spine, { target: 'theirs', pool: 'p' });
      assert.deepEqual(
        await claimNext(spine, { by: worker('w', ['mine']), targets: ['theirs', 'mine'] }),
        [],
      );
      assert.equal((await read(spine, job)).state, 'queued');
      assert.equal((await spine.engine.pools.list())[0]?.running, 0);
    },
  );

  each(
    'carries on past a job whose attempts are used up: that one dies, the next is taken',
    async (spine) => {
      const used = await create(spine, { maxAttempts: 1 });
      const good = await create(spine);
      const [held] = await claimNext(spine);
      await spine.engine.leases.release(worker('w'), used.id, held?.job.leaseToken ?? null, null);
      assert.deepEqual(ids(await claimNext(spine)), [good.id]);
      assert.equal((await read(spine, used)).state, 'dead');
    },
  );

  each('leaves out what is paused, and says so to those who claim it by its id', async (spine) => {
    const { engine } = spine;
    const addressed = await create(spine, { target: 'a' });
    const typed = await create(spine, { target: 'b', type: 't' });
    await engine.routing.pause(HEAD, 'target', 'a');
    await engine.routing.pause(HEAD, 'type', 't');
    const plain = await create(spine, { target: 'b' });
    const other = await create(spine, { target: 'b', type: 'u' });
    assert.deepEqual(ids(await claimNext(spine, { targets: ['a', 'b'], max: 9 })), [plain.id, other.id]);
    await assert.rejects(engine.leases.claim(worker('w'), typed.id), { code: 'paused' });
    await assert.rejects(engine.leases.claim(worker('w'), addressed.id), { code: 'paused' });
    await engine.routing.resume(HEAD, 'target', 'a');
    await engine.routing.resume(HEAD, 'type', 't');
    assert.equal((await claimNext(spine, { targets: ['a', 'b'], max: 9 })).length, 2);
  });

  each('pauses a type that has no jobs yet', async (spine) => {
    await spine.engine.routing.pause(HEAD, 'type', 'new');
    assert.deepEqual(await claimNext(spine), []);
    await create(spine, { type: 'new' });
    assert.deepEqual(await claimNext(spine), []);
    assert.deepEqual(await claimNext(spine, { types: ['new'] }), []);
    await spine.engine.routing.resume(HEAD, 'type', 'new');
    assert.equal((await claimNext(spine)).length, 1);
  });

  each('wakes a claimer that waits as soon as work for it is there', async (spine) => {
    const waiting = claimNext(spine, { targets: ['a', 'b'], waitMs: 60_000 });
    await standing(spine, 1);
    const job = await create(spine, { target: 'b' });
    assert.deepEqual(ids(await waiting), [job.id]);
    assert.equal(spine.engine.core.waiters.size, 0);
  });

  each('wakes no further claimer for a job that was handed out as it came', async (spine) => {
    const waiting = ['first', 'second'].map((name) =>
      claimNext(spine, { by: worker(name), waitMs: 60_000, max: 5 }),
    );
    await standing(spine, 2);
    const [job] = await createMany(spine, 1);
    // Where several look at once, the one who still looks may find it before the one who is woken for it.
    const served = await Promise.race(waiting.map(async (claim, at) => ({ at, held: await claim })));
    assert.deepEqual(ids(served.held), [job?.id]);
    assert.equal(spine.engine.core.waiters.size, 1);
    const [next] = await createMany(spine, 1);
    assert.deepEqual(ids((await waiting[1 - served.at]) ?? []), [next?.id]);
  });

  each('serves those who wait in the order in which they came, one job each', async (spine) => {
    const order: string[] = [];
    const waiting: Promise<unknown>[] = [];
    for (const name of ['first', 'second', 'third']) {
      waiting.push(
        claimNext(spine, { by: worker(name), waitMs: 60_000 }).then((held) =>
          order.push(`${name} ${held.length}`),
        ),
      );
      await standing(spine, waiting.length);
    }
    for (let n = 1; n <= 3; n++) {
      await create(spine);
      await until(`${n} are served`, () => order.length === n);
    }
    assert.deepEqual(order, ['first 1', 'second 1', 'third 1']);
    await Promise.all(waiting);
  });

  each('loses no wake-up: fifty that wait get fifty jobs that come while they look', async (spine) => {
    const waiting = Array.from({ length: 50 }, (_, i) =>
      claimNext(spine, { by: worker(`w${i}`), waitMs: 60_000 }),
    );
    for (let i = 0; i < 10; i++) {
      await Promise.all(Array.from({ length: 5 }, () => create(spine)));
      await rest(i % 3);
    }
    const held = (await Promise.all(waiting)).flat();
    assert.equal(new Set(ids(held)).size, 50);
  });

  each('wakes the one who can take the job, although one who cannot waited longer', async (spine) => {
    for (const type of ['x', 'y']) await create(spine, { type, target: 'elsewhere' });
    const cannot = claimNext(spine, { by: worker('x'), types: ['x'], waitMs: 60_000 });
    cannot.catch(() => undefined);
    await standing(spine, 1);
    const can = claimNext(spine, { by: worker('y'), types: ['y'], waitMs: 60_000 });
    await standing(spine, 2);
    const job = await create(spine, { type: 'y' });
    assert.deepEqual(ids(await soon(can)), [job.id]);
    await create(spine, { type: 'x' });
    assert.equal((await cannot).length, 1);
  });

  each('wakes a claimer of a type whose very first job comes while it waits', async (spine) => {
    const waiting = claimNext(spine, { types: ['brand-new'], waitMs: 60_000 });
    await standing(spine, 1);
    const job = await create(spine, { type: 'brand-new' });
    assert.deepEqual(ids(await soon(waiting)), [job.id]);
  });

  each('gives back an empty hand when the wait is over', async (spine) => {
    const waiting = claimNext(spine, { waitMs: 5_000 });
    await standing(spine, 1);
    let done = false;
    void waiting.then(() => (done = true));
    await spine.clock.advance(4_999);
    assert.equal(done, false);
    await spine.clock.advance(1);
    assert.deepEqual(await waiting, []);
    assert.equal(spine.engine.core.waiters.size, 0);
  });

  each('lets go of a claimer that went away, and gives its job to the next', async (spine) => {
    const gone = new AbortController();
    const first = claimNext(spine, { waitMs: 60_000, signal: gone.signal });
    await standing(spine, 1);
    const second = claimNext(spine, { by: worker('second'), waitMs: 60_000 });
    await standing(spine, 2);
    const job = create(spine);
    gone.abort();
    assert.deepEqual(await first, []);
    assert.deepEqual(ids(await second), [(await job).id]);
  });

  let onCommit = (): void => undefined;
  each(
    'takes a job back at once, with its attempt, whose claimer went away while it was handed out',
    async (spine) => {
      const gone = new AbortController();
      const first = claimNext(spine, { waitMs: 60_000, signal: gone.signal });
      await standing(spine, 1);
      onCommit = () => gone.abort();
      const job = await create(spine);
      assert.deepEqual(await first, []);
      const [held] = await claimNext(spine, { by: worker('second') });
      assert.deepEqual([held?.job.id, held?.job.attempts], [job.id, 1]);
    },
    { wrap: (store) => afterCommit(store, () => onCommit()) },
  );

  each('wakes everybody when a pause is over', async (spine) => {
    await spine.engine.routing.pause(HEAD, 'target', 'any');
    await createMany(spine, 3);
    const waiting = Array.from({ length: 3 }, (_, i) =>
      claimNext(spine, { by: worker(`w${i}`), waitMs: 60_000 }),
    );
    await standing(spine, 3);
    await spine.engine.routing.resume(HEAD, 'target', 'any');
    assert.equal((await Promise.all(waiting)).flat().length, 3);
  });

  each('releases everybody who waits when the server stops, and lets nobody wait any more', async (spine) => {
    const waiting = Array.from({ length: 5 }, (_, i) =>
      claimNext(spine, { by: worker(`w${i}`), waitMs: 60_000 }),
    );
    await standing(spine, 5);
    spine.engine.core.stopWaiting();
    assert.deepEqual((await Promise.all(waiting)).flat(), []);
    assert.deepEqual(await claimNext(spine, { waitMs: 60_000 }), []);
  });

  each('answers a repeated claimId with the jobs of the first time', async (spine) => {
    await createMany(spine, 6);
    const first = await claimNext(spine, { claimId: 'c', max: 2 });
    const again = await claimNext(spine, { claimId: 'c', max: 2 });
    assert.deepEqual(
      again.map(({ job }) => [job.id, job.leaseToken]),
      first.map(({ job }) => [job.id, job.leaseToken]),
    );
    const other = await claimNext(spine, { by: worker('other'), claimId: 'c', max: 2 });
    assert.equal(
      other.some(({ job }) => ids(first).includes(job.id)),
      false,
    );
    for (const { job } of first)
      await spine.engine.leases.complete(worker('w'), job.id, job.leaseToken, null);
    assert.equal(
      ids(await claimNext(spine, { claimId: 'c', max: 2 })).some((id) => ids(first).includes(id)),
      false,
    );
  });

  each(
    'answers two equal claims at once with the same jobs',
    async (spine) => {
      await createMany(spine, 4);
      const [a, b] = await Promise.all([
        claimNext(spine, { claimId: 'c', max: 2 }),
        claimNext(spine, { claimId: 'c', max: 2 }),
      ]);
      assert.deepEqual(ids(a ?? []), ids(b ?? []));
    },
    { lanes: 1 },
  );

  each(
    'takes the next job in the same step as it ends the last, and only if that was its own to end',
    async (spine) => {
      const { engine } = spine;
      await createMany(spine, 3);
      const [held] = await claimNext(spine);
      const next = { targets: ['any'], max: 1 };
      const answer = await engine.leases.endThenClaim(
        worker('w'),
        held?.job.id ?? '',
        held?.job.leaseToken ?? null,
        { verb: 'complete', result: 1 },
        next,
      );
      assert.equal(answer.ended.job.state, 'done');
      assert.equal(answer.next.length, 1);
      await assert.rejects(
        engine.leases.endThenClaim(
          worker('w'),
          answer.next[0]?.job.id ?? '',
          'an old token',
          { verb: 'fail', error: 'x', requeue: true },
          next,
        ),
        { code: 'lease_lost' },
      );
      assert.equal((await claimNext(spine, { max: 9 })).length, 1, 'the refused call took a job');
    },
  );

  each('serves all others too while claimers of a thousand ask without end', async (spine) => {
    const seen: string[] = [];
    const claimer = async (): Promise<void> => {
      for (let asked = 0; asked < 200; asked++) await claimNext(spine, { max: 1_000 });
      seen.push('claimed');
    };
    const creator = async (): Promise<void> => {
      await create(spine, { target: 'elsewhere' });
      seen.push('created');
    };
    await Promise.all([claimer(), claimer(), claimer(), creator()]);
    assert.equal(seen[0], 'created', 'hundreds of claims were served before one job was made');
  });
});

/** Something happens after a commit, before anybody is told of it. */
function afterCommit(store: Store, happens: () => void): Store {
  const transaction: Store['transaction'] = async (lane, work) => {
    const made = await store.transaction(lane, work);
    happens();
    return made;
  };
  return new Proxy(store, {
    get: (target, name: keyof Store) => {
      if (name === 'transaction') return transaction;
      const value = target[name];
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
}

/** Resolves when so many claimers stand in line and have found nothing: each has set itself a time to wait by then. */
async function standing({ engine, clock }: Opened, count: number): Promise<void> {
  await until(`${count} wait`, () => engine.core.waiters.size === count && timersOf(clock) === count);
}

function timersOf(clock: TestClock): number {
  return clock instanceof FakeClock ? clock.pending : assert.fail('only a fake clock tells of its timers');
}

/** Only a claimer that nobody woke is waited for so long: its own clock stands still. */
const ASLEEP_MS = 15_000;

/** What a claimer got, or nothing when it is clear that nobody woke it. */
async function soon(claim: Promise<readonly ClaimedJob[]>): Promise<readonly ClaimedJob[]> {
  // A claimer that sleeps is let go when the engine is closed, or told that the server stops.
  claim.catch(() => undefined);
  const asleep = new AbortController();
  const bound = sleep(ASLEEP_MS, [], { signal: asleep.signal });
  bound.catch(() => undefined);
  const got = await Promise.race([claim, bound]);
  asleep.abort();
  return got;
}

test('makes a lease token for each job that is taken, however many are asked for', async () => {
  const ids = systemIds();
  let made = 0;
  const leaseToken = (): string => {
    made += 1;
    return ids.leaseToken();
  };
  await using spine = await SQLITE_MEMORY.open({ ids: { ...ids, leaseToken } });
  await createMany(spine, 3);
  made = 0;
  assert.equal((await claimNext(spine, { max: 1_000 })).length, 3);
  assert.equal((await claimNext(spine, { max: 1_000 })).length, 0);
  assert.equal(made, 3);
});

onEvery([SQLITE_MEMORY, SQLITE_FILE], (each) => {
  each('hands a new job to whoever waits for it, not to who comes later', async (spine) => {
    const waiting = claimNext(spine, { by: worker('first'), waitMs: 60_000 });
    await standing(spine, 1);
    const made = create(spine);
    const late = claimNext(spine, { by: worker('late') });
    assert.deepEqual([ids(await waiting), await late], [[(await made).id], []]);
  });
});

onEvery(ENGINES, (each) => {
  each('hands a new job to whoever waits for it in the commit that makes it', async (spine) => {
    // A claimer that has not yet lain down looks for itself after the commit: then it is tried once more.
    for (let tries = 1; ; tries++) {
      const waiting = claimNext(spine, { waitMs: 60_000 });
      await standing(spine, 1);
      const made = await create(spine);
      assert.deepEqual(ids(await waiting), [made.id]);
      assert.deepEqual(await eventKinds(spine, made), ['job.created', 'job.claimed']);
      await numberAll(spine);
      const events = await spine.engine.jobs.feed({ pos: 0, ordinal: -1 }, 1_000);
      // Events of one commit share their position.
      const [created, claim] = events.filter(({ jobId }) => jobId === made.id);
      if (created?.pos === claim?.pos) return;
      assert.ok(tries < 20, 'a second commit was made every time');
    }
  });
});

function ids(held: readonly ClaimedJob[]): string[] {
  return held.map(({ job }) => job.id);
}

function ids2(jobs: readonly { id: string }[]): string[] {
  return jobs.map((job) => job.id);
}
