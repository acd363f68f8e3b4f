import assert from 'node:assert/strict';
import type { Actor } from '../../src/domain/command.ts';
import type { Bulk } from '../../src/domain/bulk.ts';
import { bulk } from '../../src/loops/bulk.ts';
import {
  claimed,
  create,
  createMany,
  type Each,
  failed,
  finished,
  HEAD,
  type Opened,
  read,
  refusal,
  stateOf,
} from '../support/engines.ts';
import { insert, row } from './rows.ts';

async function step({ engine }: Opened): Promise<number> {
  return (await bulk(engine.core).runOnce()).done;
}

/** As the loop does it, until nothing is left. */
async function runAll(spine: Opened): Promise<void> {
  const duty = bulk(spine.engine.core);
  for (let pass = 0; ; pass++) {
    if (pass > 200) throw new Error('it never comes to an end');
    if (typeof (await duty.runOnce()).nextInMs !== 'number') return;
  }
}

const told = ({ state, count, changed, refused }: Bulk) => ({ state, count, changed, refused });

export function bulkTopics(each: Each): void {
  each('cancels all that fit, a few at a time, and tells how far it is', async (spine) => {
    const { engine } = spine;
    await createMany(spine, 120, { tags: ['old'] });
    const other = await create(spine, { tags: ['new'] });
    const draft = { action: 'cancel', filter: { tag: 'old' } } as const;
    assert.equal(await engine.bulks.count(HEAD, draft), 120);
    const { id } = await engine.bulks.start(HEAD, draft);
    const late = await create(spine, { tags: ['old'] });
    assert.ok((await step(spine)) < 120, 'one step leaves room for others');
    const between = await engine.bulks.get(HEAD, id);
    assert.deepEqual([between.state, between.changed], ['running', 25]);
    await runAll(spine);
    assert.deepEqual(told(await engine.bulks.get(HEAD, id)), {
      state: 'done',
      count: 120,
      changed: 120,
      refused: 0,
    });
    assert.deepEqual([await stateOf(spine, other), await stateOf(spine, late)], ['queued', 'queued']);
    const counts = (await engine.counts()).filter(({ n }) => n !== 0);
    assert.deepEqual(counts.map(({ state, n }) => `${state} ${n}`).toSorted(), ['cancelled 120', 'queued 2']);
    const [entry] = await engine.audit.list(Number.MAX_SAFE_INTEGER, 1);
    assert.deepEqual([entry?.action, entry?.facts?.['count']], ['jobs.cancel', 120]);
  });

  each(
    'goes no further once it is cancelled, and the next server goes on where one has died',
    async (spine) => {
      const { engine } = spine;
      await createMany(spine, 120);
      const draft = { action: 'cancel', filter: { target: 'any' } } as const;
      const stopped = await engine.bulks.start(HEAD, draft);
      await step(spine);
      const { state, changed } = await engine.bulks.cancel(HEAD, stopped.id);
      assert.deepEqual([state, changed], ['cancelled', 25]);
      assert.equal(await step(spine), 0);
      const going = await engine.bulks.start(HEAD, draft);
      await step(spine);
      const next = (await spine.another?.()) ?? spine;
      await runAll(next);
      assert.deepEqual(told(await next.engine.bulks.get(HEAD, going.id)), {
        state: 'done',
        count: 95,
        changed: 95,
        refused: 0,
      });
      if (next !== spine) await next.close();
      assert.equal(await refusal(engine.bulks.get(HEAD, 'nothing')), 'not_found');
    },
  );

  each(
    'is seen and called off by whoever could have asked for it, and is not there for others',
    async (spine) => {
      const { engine } = spine;
      await createMany(spine, 2, { target: 'left-claw' });
      const draft = { action: 'cancel', filter: { target: 'left-claw' } } as const;
      const [wide, narrow] = [
        await engine.bulks.start(HEAD, { action: 'cancel', filter: { tag: 'none' } }),
        await engine.bulks.start(HEAD, draft),
      ];
      const left: Actor = { name: 'lefty', role: 'head', targets: ['left-claw'] };
      const right: Actor = { name: 'righty', role: 'head', targets: ['right-claw'] };
      const seen = async (actor: Actor) => (await engine.bulks.list(actor, 100)).map(({ id }) => id);
      assert.deepEqual(await seen(HEAD), [narrow.id, wide.id]);
      assert.deepEqual([await seen(left), await seen(right)], [[narrow.id], []]);
      for (const [actor, { id }] of [
        [right, narrow],
        [right, wide],
        [left, wide],
      ] as const) {
        assert.equal(await refusal(engine.bulks.get(actor, id)), 'not_found');
        assert.equal(await refusal(engine.bulks.cancel(actor, id)), 'not_found');
      }
      assert.equal((await engine.bulks.cancel(left, narrow.id)).state, 'cancelled');
      assert.equal((await engine.bulks.get(HEAD, wide.id)).state, 'running');
    },
  );

  each('asks running work to stop only when that was asked for, and ends what it created', async (spine) => {
    const { engine } = spine;
    const [taken, waiting] = await createMany(spine, 2);
    assert.ok(taken !== undefined && waiting !== undefined);
    await engine.bulks.start(HEAD, { action: 'cancel', filter: { states: ['queued'] } });
    // After the count, before the step.
    const { leaseToken } = await claimed(spine, taken);
    await runAll(spine);
    assert.equal((await read(spine, taken)).cancelRequested, false);
    assert.equal(await stateOf(spine, waiting), 'cancelled');
    const child = await create(spine, { parentId: taken.id, target: 'elsewhere' });
    await engine.bulks.start(HEAD, { action: 'cancel', filter: { states: ['running'] } });
    await runAll(spine);
    assert.equal((await read(spine, taken)).cancelRequested, true);
    assert.equal(await stateOf(spine, child), 'cancelled');
    assert.notEqual(leaseToken, null);
  });

  each('ends families a piece at a time, and the parent when all below it has ended', async (spine) => {
    const { engine } = spine;
    const parents = await createMany(spine, 3, { tags: ['top'] });
    const [big, ...small] = parents;
    assert.ok(big !== undefined);
    await createMany(spine, 300, { parentId: big.id });
    for (const { id: parentId } of small) await createMany(spine, 100, { parentId });
    const { id } = await engine.bulks.start(HEAD, { action: 'cancel', filter: { tag: 'top' } });
    const cancelled = async (): Promise<number> =>
      (await engine.counts()).find(({ state }) => state === 'cancelled')?.n ?? 0;
    const ended: number[] = [];
    await step(spine);
    ended.push(await cancelled());
    assert.equal(await stateOf(spine, big), 'queued');
    // Another server goes on where one has died.
    const next = (await spine.another?.()) ?? spine;
    while (ended.at(-1) !== 503) {
      await step(next);
      ended.push(await cancelled());
      assert.ok(ended.length < 9, `${ended.join(' ')}: it comes no further`);
    }
    if (next !== spine) await next.close();
    const most = Math.max(...ended.map((sum, i) => sum - (ended[i - 1] ?? 0)));
    assert.ok(most < 280, `${most} jobs ended in one step`);
    await runAll(spine);
    assert.deepEqual(told(await engine.bulks.get(HEAD, id)), {
      state: 'done',
      count: 3,
      changed: 3,
      refused: 0,
    });
  });

  each('opens again what did not go well, one for each unique key, and redrives the dead', async (spine) => {
    const { engine } = spine;
    const dead = await create(spine, { maxAttempts: 1 });
    await failed(spine, dead);
    const twins = [];
    for (let n = 0; n < 2; n++) {
      const twin = await create(spine, { uniqueKey: 'one' });
      await engine.jobs.cancel(HEAD, twin.id, null);
      twins.push(twin);
    }
    const done = await create(spine);
    await finished(spine, done);
    const retry = { action: 'retry', filter: { target: 'any' } } as const;
    const { id } = await engine.bulks.start(HEAD, retry);
    await runAll(spine);
    assert.deepEqual(told(await engine.bulks.get(HEAD, id)), {
      state: 'done',
      count: 3,
      changed: 2,
      refused: 1,
    });
    assert.equal(await stateOf(spine, done), 'done', 'nobody asked for that');
    const states = await Promise.all(twins.map((twin) => stateOf(spine, twin)));
    assert.deepEqual(states, ['queued', 'cancelled']);
    await failed(spine, dead);
    await engine.bulks.start(HEAD, { action: 'redrive', filter: { target: 'any' } });
    await runAll(spine);
    const { state, attempts } = await read(spine, dead);
    assert.deepEqual([state, attempts], ['queued', 0]);
  });

  each('keeps its place also where nothing fitted', async (spine) => {
    const { engine, store } = spine;
    const first = await create(spine, { target: 'rare' });
    await insert(
      store,
      Array.from({ length: 4_100 }, () => row()),
    );
    const last = await create(spine, { target: 'rare' });
    const { id, count } = await engine.bulks.start(HEAD, { action: 'cancel', filter: { target: 'rare' } });
    assert.equal(count, 2);
    const steps: number[][] = [];
    for (let n = 0; n < 3; n++) {
      await step(spine);
      const { doneNo, changed } = await engine.bulks.get(HEAD, id);
      steps.push([doneNo, changed]);
    }
    assert.deepEqual(steps, [
      [first.no + 1_999, 1],
      [first.no + 3_999, 1],
      [last.no, 2],
    ]);
    assert.deepEqual(told(await engine.bulks.get(HEAD, id)), {
      state: 'done',
      count: 2,
      changed: 2,
      refused: 0,
    });
  });

  each('removes what has ended, in steps too, and leaves what others wait for', async (spine) => {
    const { engine } = spine;
    const jobs = await createMany(spine, 70, { tags: ['gone'] });
    const waitedFor = await create(spine, { tags: ['gone'] });
    const waiter = await create(spine, { after: [{ job: waitedFor.id }] });
    for (const job of [...jobs, waitedFor]) await engine.jobs.cancel(HEAD, job.id, null);
    const { id } = await engine.bulks.start(HEAD, { action: 'delete', filter: { tag: 'gone' } });
    await runAll(spine);
    assert.deepEqual(told(await engine.bulks.get(HEAD, id)), {
      state: 'done',
      count: 71,
      changed: 70,
      refused: 1,
    });
    const left = await engine.jobs.list(HEAD, { states: ['cancelled'], order: 'oldest', limit: 9 });
    assert.deepEqual(
      left.map(({ no }) => no),
      [waitedFor.no],
    );
    assert.equal(await stateOf(spine, waiter), 'blocked');
  });

  each('finds by words and by what head may see, and only so many calls go on at once', async (spine) => {
    const { engine } = spine;
    const found = await create(spine, { title: 'water the plants' });
    await create(spine, { title: 'feed the cat' });
    const bounded = { ...HEAD, targets: ['elsewhere'] };
    const draft = { action: 'cancel', filter: { words: 'plants' } } as const;
    assert.equal(await engine.bulks.count(bounded, draft), 0);
    await engine.bulks.start(HEAD, draft);
    await runAll(spine);
    assert.equal(await stateOf(spine, found), 'cancelled');
    assert.equal((await engine.counts()).find(({ state }) => state === 'queued')?.n, 1);
    for (let n = 0; n < 20; n++) await engine.bulks.start(HEAD, draft);
    assert.equal(await refusal(engine.bulks.start(HEAD, draft)), 'conflict');
    assert.equal((await engine.bulks.list(HEAD, 100)).length, 21);
  });
}
