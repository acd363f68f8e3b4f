import assert from 'node:assert/strict';
import { STATES, type State } from '../../src/domain/job.ts';
import type { JobFilter } from '../../src/engine/engine.ts';
import { type Each, HEAD, type Opened, worker } from '../support/engines.ts';

/** More than one look of a search takes in. */
const MANY = 2_300;

export function searchTopics(each: Each): void {
  each('finds all jobs with a common word, page by page, in the order of their numbers', async (spine) => {
    const nos = await createMany(spine, MANY, (i) => ({ title: `Deploy service ${i % 10}` }));
    for (const order of ['oldest', 'newest'] as const) {
      const { jobs, longestPage } = await searchAll(spine, 'deploy', { order, limit: 700 });
      assert.deepEqual(jobs, order === 'oldest' ? nos : nos.toReversed());
      assert.equal(longestPage, 700);
    }
    const sevens = nos.filter((_, i) => i % 10 === 7);
    assert.deepEqual((await searchAll(spine, 'service 7 deploy', { limit: 100 })).jobs, sevens);
  });

  each('looks at a bounded number of jobs for a page, and says where to go on', async (spine) => {
    const nos = await createMany(spine, MANY, () => ({ title: 'Deploy it' }));
    const last = nos.at(-1) ?? 0;
    const job = await spine.engine.jobs.get(HEAD, String(last));
    await spine.engine.leases.claim(worker('w'), job.id);
    const states: State[] = ['running'];
    const first = await search(spine, 'deploy', { states, limit: 10 });
    assert.deepEqual(first.jobs, []);
    assert.ok(first.next !== null && first.next < last, 'there is more behind an empty page');
    const { jobs, pages } = await searchAll(spine, 'deploy', { states, limit: 10 });
    assert.deepEqual([jobs, pages], [[last], 2]);
    assert.deepEqual((await searchAll(spine, 'deploy', { states, limit: 10, order: 'newest' })).jobs, [last]);
  });

  each(
    'takes a word for the beginning of others, unless it is short or common as it stands',
    async (spine) => {
      const [painting] = await createMany(spine, 1, () => ({ title: 'Painting', description: 'a shed' }));
      const [paint] = await createMany(spine, 1, () => ({ title: 'paint', description: 'the door' }));
      assert.deepEqual((await searchAll(spine, 'paint')).jobs, [painting, paint]);
      assert.deepEqual((await searchAll(spine, 'PAIN')).jobs, [painting, paint]);
      assert.deepEqual((await searchAll(spine, 'pai')).jobs, []);
      assert.deepEqual((await searchAll(spine, 'the paint')).jobs, [paint]);
      const others = await createMany(spine, 1_000, () => ({ title: 'Paint' }));
      assert.deepEqual((await searchAll(spine, 'paint', { limit: 1_000 })).jobs, [paint, ...others]);
      assert.deepEqual((await searchAll(spine, 'painti')).jobs, [painting]);
    },
  );

  each('keeps to the filter and to what its caller may see', async (spine) => {
    const [mine, theirs] = await createMany(spine, 2, (i) => ({
      title: 'Sweep',
      target: i === 0 ? 'a' : 'b',
    }));
    const left = worker('left', ['a']);
    const filter: JobFilter = { states: STATES, order: 'oldest', limit: 10 };
    const seen = await spine.engine.jobs.search(left, 'sweep', filter);
    assert.deepEqual(
      seen.jobs.map(({ no }) => no),
      [mine],
    );
    assert.deepEqual((await searchAll(spine, 'sweep', { target: 'b' })).jobs, [theirs]);
    assert.deepEqual((await searchAll(spine, 'sweep', { tag: 'none' })).jobs, []);
    assert.deepEqual((await searchAll(spine, 'sweep', { states: ['done'] })).jobs, []);
  });
}

async function createMany(
  { engine }: Opened,
  count: number,
  draft: (i: number) => { readonly title: string; readonly description?: string; readonly target?: string },
): Promise<number[]> {
  const nos: number[] = [];
  for (let made = 0; made < count; made += 1_000) {
    const part = Array.from({ length: Math.min(1_000, count - made) }, (_, i) => ({
      target: 'any',
      ...draft(made + i),
    }));
    nos.push(...(await engine.jobs.create(HEAD, part)).jobs.map(({ no }) => no));
  }
  return nos;
}

async function search(spine: Opened, words: string, asked: Partial<JobFilter>) {
  const filter: JobFilter = { states: STATES, order: 'oldest', limit: 100, ...asked };
  const { jobs, next } = await spine.engine.jobs.search(HEAD, words, filter);
  return { jobs: jobs.map(({ no }) => no), next };
}

async function searchAll(spine: Opened, words: string, asked: Partial<JobFilter> = {}) {
  const jobs: number[] = [];
  let longestPage = 0;
  for (let from = {}, pages = 1; ; pages++) {
    const page = await search(spine, words, { ...asked, ...from });
    jobs.push(...page.jobs);
    longestPage = Math.max(longestPage, page.jobs.length);
    if (page.next === null) return { jobs, pages, longestPage };
    from = { from: page.next };
  }
}
