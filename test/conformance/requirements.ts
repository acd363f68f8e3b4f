import assert from 'node:assert/strict';
import { LIMITS } from '../../src/domain/limits.ts';
import { create, createMany, type Each, HEAD, type Opened, read, worker } from '../support/engines.ts';

async function claimWith(
  { engine }: Opened,
  capabilities: readonly string[],
  more: { readonly max?: number; readonly waitMs?: number; readonly types?: readonly string[] } = {},
): Promise<(string | null)[]> {
  const wanted = { targets: ['any'], max: 100, waitMs: 0, ...more, capabilities };
  return (await engine.leases.claimNext(worker('w'), wanted)).map(({ input, job }) => input?.title ?? job.id);
}

export function requirementTopics(each: Each): void {
  each(
    'gives a worker no job that requires what it cannot do, and lets none of them stand in its way',
    async (spine) => {
      await createMany(spine, 300, { priority: 9, requires: ['gpu'] });
      await create(spine, { title: 'plain' });
      assert.deepEqual(await claimWith(spine, []), ['plain']);
      assert.deepEqual(await claimWith(spine, ['ssh']), []);
      assert.equal((await claimWith(spine, ['gpu'])).length, 100);
    },
  );

  each('gives the best of all that a worker can do, whatever each of them requires', async (spine) => {
    const jobs: [title: string, priority: number, requires: string[]][] = [
      ['fourth', 1, []],
      ['first', 4, ['gpu', 'ssh']],
      ['beyond', 9, ['gpu', 'ssh', 'root']],
      ['second', 3, ['ssh']],
      ['other', 9, ['gpu2']],
      ['third', 2, ['gpu']],
    ];
    for (const [title, priority, requires] of jobs) await create(spine, { title, priority, requires });
    assert.deepEqual(await claimWith(spine, ['ssh', 'gpu']), ['first', 'second', 'third', 'fourth']);
    assert.deepEqual(await claimWith(spine, ['root', 'gpu', 'ssh', 'gpu2']), ['beyond', 'other']);
  });

  each('takes what is required as a set: in any order, each once', async (spine) => {
    const job = await create(spine, { title: 'both', requires: ['ssh', 'gpu', 'ssh'] });
    assert.equal(job.requires, '["gpu","ssh"]');
    assert.equal((await create(spine, { requires: [] })).requires, null);
    assert.deepEqual(await claimWith(spine, ['gpu', 'ssh'], { max: 1 }), ['both']);
  });

  each('asks for the type and for what is required at once', async (spine) => {
    await create(spine, { title: 'drawn', type: 'draw', requires: ['gpu'] });
    await create(spine, { title: 'counted', type: 'count', requires: ['gpu'], priority: 5 });
    assert.deepEqual(await claimWith(spine, ['gpu'], { types: ['draw'] }), ['drawn']);
  });

  each('refuses a job by its id to whoever lacks something, names it, and changes nothing', async (spine) => {
    const job = await create(spine, { requires: ['gpu', 'ssh'] });
    const claim = (capabilities: readonly string[]) =>
      spine.engine.leases.claim(worker('w'), job.id, { capabilities });
    await assert.rejects(claim(['ssh']), { code: 'missing_capability', details: { missing: ['gpu'] } });
    assert.equal((await read(spine, job)).attempts, 0);
    assert.equal((await claim(['gpu', 'ssh', 'root'])).job.state, 'running');
  });

  each('wakes the one who can do the job, not the one who has waited longest', async (spine) => {
    const unable = claimWith(spine, [], { waitMs: 60_000, max: 1 });
    const able = claimWith(spine, ['gpu'], { waitMs: 60_000, max: 1 });
    await create(spine, { title: 'drawn', requires: ['gpu'] });
    assert.deepEqual(await able, ['drawn']);
    await create(spine, { title: 'plain' });
    assert.deepEqual(await unable, ['plain']);
  });

  each('finds the jobs that a worker is there for behind any number that it cannot do', async (spine) => {
    const jobs = Array.from({ length: 2 * LIMITS.requirementLooks }, (_, i) => ({
      target: 'any',
      requires: ['gpu', `model-${i}`],
    }));
    await spine.engine.jobs.create(HEAD, jobs);
    await create(spine, { title: 'alone', requires: ['gpu'] });
    await create(spine, { title: 'last', requires: ['gpu', 'zoom'] });
    assert.deepEqual(await claimWith(spine, ['zoom', 'gpu']), ['alone', 'last']);
  });

  each('looks for a bounded number of sets, and comes to all of them in the end', async (spine) => {
    const count = LIMITS.requirementSets + 8;
    for (let i = 0; i < count; i++) await create(spine, { requires: ['gpu', `model-${i}`] });
    const mine = ['gpu', ...Array.from({ length: count }, (_, i) => `model-${i}`)];
    const first = await claimWith(spine, mine);
    assert.ok(first.length <= LIMITS.requirementSets, `${first.length} at once`);
    assert.equal(first.length + (await claimWith(spine, mine)).length, count);
  });
}
