import assert from 'node:assert/strict';
import type { FeedEvent, FeedPlace } from '../../src/domain/event.ts';
import { isFinal, type Job, STATES } from '../../src/domain/job.ts';
import {
  claimNext,
  createMany,
  type Each,
  HEAD,
  type Opened,
  settleAll,
  SYSTEM,
  worker,
  create,
} from '../support/engines.ts';
import { insert, row, tell } from './rows.ts';

export function eventTopics(each: Each): void {
  each('numbers the events of a job 1, 2, 3 … without a gap, and in the order of time', async (spine) => {
    await randomWork(spine, 7);
    for (const job of await everyJob(spine)) {
      const events = await spine.engine.jobs.events(HEAD, job.id, 0, 1_000);
      assert.deepEqual(
        events.map((event) => event.seq),
        events.map((_, i) => i + 1),
      );
      assert.equal(events.length, job.seq);
      assert.deepEqual(
        events.map((event) => event.at),
        events.map((event) => event.at).toSorted((a, b) => a - b),
      );
      assert.equal(events[0]?.kind, 'job.created');
    }
  });

  each('has counters that equal the real counts after random work', async (spine) => {
    await randomWork(spine, 11);
    const real = new Map<string, number>();
    for (const job of await everyJob(spine)) {
      const key = `${job.target} ${job.state}`;
      real.set(key, (real.get(key) ?? 0) + 1);
    }
    const counted = (await spine.engine.counts()).map(({ target, state, n }): [string, number] => [
      `${target} ${state}`,
      n,
    ]);
    assert.deepEqual(counted.toSorted(byKey), [...real].toSorted(byKey));
    assert.ok(real.size > 5, 'the work was not random enough');
  });

  each('keeps every job of a random history in a shape that its state allows', async (spine) => {
    await randomWork(spine, 23);
    for (const job of await everyJob(spine)) {
      const running = job.state === 'running';
      assert.deepEqual([job.leaseToken !== null, job.leaseUntil !== null], [running, running], job.state);
      // Who held an ended job last stays to be seen; a job that waits has no holder.
      if (!isFinal(job.state)) assert.equal(job.claimedBy !== null, running, job.state);
      assert.equal(job.finishedAt !== null, isFinal(job.state));
      assert.ok(job.attempts <= job.maxAttempts);
      const events = await spine.engine.jobs.events(HEAD, job.id, 0, 1_000);
      assert.equal(events.filter((event) => event.kind === 'job.claimed').length, job.fence);
    }
  });

  each('feeds every event once and in job order, however small the pages are', async (spine) => {
    await randomWork(spine, 5, 60);
    await numberAll(spine);
    const inOne = await spine.engine.jobs.feed({ pos: 0, ordinal: -1 }, 10_000);
    const total = (await everyJob(spine)).reduce((sum, job) => sum + job.seq, 0);
    assert.equal(inOne.length, total);
    for (const size of [1, 3, 7]) assert.deepEqual(await pages(spine, size), inOne, `pages of ${size}`);
    const last = new Map<number, number>();
    for (const event of inOne) {
      assert.equal(event.seq, (last.get(event.jobNo) ?? 0) + 1);
      last.set(event.jobNo, event.seq);
    }
  });

  each('keeps the facts of an event as they were', async ({ store }) => {
    const [job] = await insert(store, [row()]);
    const jobNo = job?.no ?? 0;
    const facts = { text: 'Grüße "\\ 🚀', none: null, n: Number.MAX_SAFE_INTEGER, list: [1, 'a'] };
    const events = [
      { jobNo, seq: 1, at: 5, kind: 'job.created' as const, by: 'ö', facts },
      { jobNo, seq: 2, at: 6, kind: 'job.comment' as const, by: '', facts: null },
    ];
    await store.transaction(0, (tx) => tell(tx, job as Job, events, 6));
    assert.deepEqual(await store.read.feed.ofJob(jobNo, 0, 10), events);
    assert.deepEqual(await store.read.feed.ofJob(jobNo, 1, 10), events.slice(1));
    assert.deepEqual(await store.read.feed.ofJob(jobNo, 0, 1), events.slice(0, 1));
  });
}

export async function everyJob({ store }: Opened) {
  return store.read.jobs.list({
    states: STATES,
    targets: null,
    typeNo: null,
    tag: null,
    retries: false,
    order: 'oldest',
    from: null,
    limit: 10_000,
  });
}

export async function numberAll({ engine }: Opened): Promise<void> {
  while ((await engine.core.flusher.transact(SYSTEM, async (tx) => tx.feed.number(1_000))) > 0);
}

async function pages({ engine }: Opened, size: number): Promise<FeedEvent[]> {
  const all: FeedEvent[] = [];
  let place: FeedPlace = { pos: 0, ordinal: -1 };
  for (;;) {
    const page = await engine.jobs.feed(place, size);
    all.push(...page);
    const last = page.at(-1);
    if (last === undefined) return all;
    place = { pos: last.pos, ordinal: last.ordinal };
  }
}

function byKey([a]: [string, number], [b]: [string, number]): number {
  return a < b ? -1 : 1;
}

/** A repeatable stream of numbers in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Creates jobs and does things to them at random, many at once; refusals are part of it. */
export async function randomWork(spine: Opened, seed: number, steps = 120): Promise<void> {
  const { engine, clock } = spine;
  const random = seeded(seed);
  const among = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const jobs = [
    ...(await createMany(spine, 12)),
    ...(await createMany(spine, 6, { target: 'b', maxAttempts: 1 })),
  ];
  jobs.push(...(await createMany(spine, 4, { retry: { mode: 'lineage', max: 1 } })));
  jobs.push(...(await createMany(spine, 4, { pool: 'p', concurrencyKey: 'k' })));
  jobs.push(
    await create(spine, { after: [{ job: jobs[0]?.id ?? '' }] }),
    await create(spine, { after: [{ job: jobs[13]?.id ?? '', on: 'failure' }] }),
  );
  const tokens = new Map<string, string | null>();
  const one = async (): Promise<void> => {
    const { id } = among(jobs);
    const token = tokens.get(id) ?? null;
    const by = worker(among(['x', 'y']));
    switch (
      among([
        'claim',
        'claim',
        'next',
        'next',
        'beat',
        'complete',
        'fail',
        'fail',
        'giveUp',
        'release',
        'cancel',
        'retry',
        'redrive',
        'expire',
        'snooze',
        'admit',
        'comment',
      ] as const)
    ) {
      case 'claim':
        return void tokens.set(id, (await engine.leases.claim(by, id)).job.leaseToken);
      case 'next':
        for (const { job } of await claimNext(spine, { by, targets: ['any', 'b'], max: 2 }))
          tokens.set(job.id, job.leaseToken);
        return;
      case 'beat':
        return void (await engine.leases.heartbeat(by, id, token, { n: 1 }));
      case 'complete':
        return void (await engine.leases.complete(by, id, token, 'ok'));
      case 'fail':
        return void (await engine.leases.fail(by, id, token, 'no', true));
      case 'giveUp':
        return void (await engine.leases.fail(by, id, token, 'no', false));
      case 'release':
        return void (await engine.leases.release(by, id, token, null));
      case 'cancel':
        return void (random() < 0.3 && (await engine.jobs.cancel(HEAD, id, null)));
      case 'retry':
        return void (await engine.jobs.retry(HEAD, id));
      case 'redrive':
        return void (await engine.jobs.redrive(HEAD, id));
      case 'expire':
        return void (await engine.core.perform({ kind: 'expire', id, actor: SYSTEM }));
      case 'snooze':
        return void (await engine.jobs.snooze(HEAD, id, engine.now() + 1_000, null));
      case 'admit':
        return void (await engine.core.perform({ kind: 'admit', id, actor: SYSTEM }));
      case 'comment':
        return void (await engine.jobs.comment(by, id, 'hm'));
    }
  };
  for (let step = 0; step < steps; step += 6) {
    await Promise.allSettled(Array.from({ length: 6 }, one));
    if (random() < 0.2) await clock.advance(random() < 0.3 ? 300_000 : 1_000);
    if (random() < 0.3) await settleAll(spine);
  }
  await settleAll(spine);
}
