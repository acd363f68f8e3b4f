import assert from 'node:assert/strict';
import { rescore } from '../../src/engine/rescoring.ts';
import {
  claimNext,
  create,
  DIALECTS,
  failed,
  HEAD,
  onEvery,
  type Opened,
  POSTGRES,
  read,
  refusal,
  settleAll,
  worker,
} from '../support/engines.ts';

const HOUR_MS = 3_600_000;

async function takeAll(spine: Opened, count: number): Promise<(string | null | undefined)[]> {
  const titles = [];
  for (let i = 0; i < count; i++) titles.push((await claimNext(spine)).at(0)?.input?.title);
  return titles;
}

async function standing(spine: Opened, job: { readonly id: string }): Promise<(number | null)[]> {
  const { priority, score, scoreAt } = await read(spine, job);
  return [priority, score, scoreAt === null ? null : scoreAt - spine.engine.core.now()];
}

onEvery(DIALECTS, (each) => {
  each(
    'jobs with the tags that their type gives points for go first, and the older of those with as many [TQ-45]',
    async (spine) => {
      await spine.engine.types.save(HEAD, {
        name: 'crawl',
        scoring: { tags: { watchlist: 4, trending: 3 } },
      });
      const made = [
        ['plain', []],
        ['trending', ['trending']],
        ['watched', ['watchlist']],
        ['both', ['trending', 'watchlist']],
        ['watched later', ['watchlist']],
      ] as const;
      for (const [title, tags] of made) await create(spine, { type: 'crawl', title, tags, priority: 10 });
      await create(spine, { type: 'crawl', title: 'urgent', priority: 30 });
      await create(spine, { title: 'of no type', priority: 10 });
      assert.deepEqual(await takeAll(spine, 7), [
        'urgent',
        'both',
        'watched',
        'watched later',
        'trending',
        'plain',
        'of no type',
      ]);
    },
  );

  each('a type that says nothing of it leaves the order as it was [TQ-45]', async (spine) => {
    const made = ['a', 'b', 'c', 'd'];
    for (const title of made) await create(spine, { type: 'crawl', title, tags: ['watchlist'] });
    await spine.clock.advance(100 * HOUR_MS);
    assert.deepEqual(await rescore(spine.engine.core), { done: 0, more: false });
    assert.deepEqual(await takeAll(spine, 4), made);
  });

  each('a job that has waited rises past younger ones, as far as its type lets it [TQ-45]', async (spine) => {
    const { engine, clock } = spine;
    await engine.types.save(HEAD, { name: 'crawl', scoring: { perHour: 1, max: 5, tags: { hot: 3 } } });
    const old = await create(spine, { type: 'crawl', title: 'old' });
    assert.deepEqual(await standing(spine, old), [0, 0, HOUR_MS]);
    await clock.advance(4 * HOUR_MS - 1);
    await rescore(engine.core);
    const hot = await create(spine, { type: 'crawl', title: 'hot', tags: ['hot'] });
    assert.deepEqual(await standing(spine, old), [3, 3, 1]);
    await clock.advance(1);
    const changes = await engine.jobs.events(HEAD, old.id, 0, 100);
    await rescore(engine.core);
    assert.deepEqual(await standing(spine, old), [4, 4, HOUR_MS]);
    await clock.advance(20 * HOUR_MS);
    await rescore(engine.core);
    assert.deepEqual(await standing(spine, old), [5, 5, null]);
    assert.deepEqual(await standing(spine, hot), [5, 5, null]);
    assert.deepEqual(await rescore(engine.core), { done: 0, more: false }, 'nobody has more to get');
    assert.deepEqual(await engine.jobs.events(HEAD, old.id, 0, 100), changes, 'nothing is told of it');
    assert.deepEqual(await takeAll(spine, 2), ['old', 'hot']);
  });

  each('what is claimed, has ended or waits for its time does not rise [TQ-45]', async (spine) => {
    const { engine, clock } = spine;
    await engine.types.save(HEAD, { name: 'crawl', scoring: { perHour: 1 } });
    await create(spine, { type: 'crawl' });
    await claimNext(spine);
    await create(spine, { type: 'crawl', runAt: engine.core.now() + 50 * HOUR_MS });
    await clock.advance(10 * HOUR_MS);
    assert.deepEqual(await rescore(engine.core), { done: 0, more: false });
  });

  each('many that are due are looked at a few hundred at a time [TQ-45]', async (spine) => {
    const { engine, clock } = spine;
    await engine.types.save(HEAD, { name: 'crawl', scoring: { perHour: 1 } });
    const drafts = Array.from({ length: 450 }, () => ({ target: 'any', type: 'crawl' }));
    await engine.jobs.create(HEAD, drafts);
    await clock.advance(HOUR_MS);
    const passes = [];
    for (let i = 0; i < 4; i++) passes.push(await rescore(engine.core));
    assert.deepEqual(passes, [
      { done: 200, more: true },
      { done: 200, more: true },
      { done: 50, more: false },
      { done: 0, more: false },
    ]);
  });

  each(
    'a retry begins with the points it is made with, not with those of the failed one [TQ-45]',
    async (spine) => {
      const { engine, clock } = spine;
      await engine.types.save(HEAD, { name: 'crawl', scoring: { points: 1, perHour: 1, tags: { hot: 2 } } });
      const draft = { type: 'crawl', tags: ['hot'], priority: 10, retry: { mode: 'lineage' } } as const;
      const job = await create(spine, draft);
      await clock.advance(3 * HOUR_MS);
      await rescore(engine.core);
      assert.deepEqual((await standing(spine, job)).slice(0, 2), [16, 6]);
      await failed(spine, job);
      await settleAll(spine);
      const [retry] = await claimNext(spine);
      assert.deepEqual([retry?.job.priority, retry?.job.score], [13, 3]);
    },
  );

  each('a child asks for no more than its parent did, whatever points that has [TQ-45]', async (spine) => {
    const { engine } = spine;
    await engine.types.save(HEAD, { name: 'crawl', scoring: { points: 9 } });
    const parent = await create(spine, { type: 'crawl', priority: 10 });
    await claimNext(spine);
    const child = (priority: number) =>
      engine.jobs.create(worker('w'), [{ target: 'any', parentId: parent.id, priority }]);
    assert.equal(await refusal(child(11)), 'bad_request');
    assert.equal((await child(10)).jobs[0]?.priority, 10);
  });
});

onEvery([POSTGRES], (each) => {
  each('two servers that look at the same time give each point once [TQ-45]', async (spine) => {
    await using other = (await spine.another?.()) as Opened;
    await spine.engine.types.save(HEAD, { name: 'crawl', scoring: { perHour: 1 } });
    const job = await create(spine, { type: 'crawl' });
    await spine.clock.advance(HOUR_MS);
    await other.clock.advance(HOUR_MS);
    await Promise.all([rescore(spine.engine.core), rescore(other.engine.core)]);
    assert.deepEqual(await standing(spine, job), [1, 1, HOUR_MS]);
  });
});
