import assert from 'node:assert/strict';
import { LIMITS } from '../../src/domain/limits.ts';
import type { Job } from '../../src/domain/job.ts';
import {
  claimNext,
  create,
  type Each,
  failed,
  finished,
  type Opened,
  settleAll,
} from '../support/engines.ts';

/** What the holder of the job is handed of the jobs before it. */
async function inputs(spine: Opened, job: Job) {
  return (await spine.engine.jobs.handedOn([job])).get(job.no)?.inputs ?? null;
}

function parsed(found: Awaited<ReturnType<typeof inputs>>): Record<string, unknown> {
  return Object.fromEntries(
    (found?.results ?? []).map(({ id, result }) => [
      id,
      result === null ? null : (JSON.parse(result) as unknown),
    ]),
  );
}

export function inputTopics(each: Each): void {
  each('hands the results of the jobs that it waited for to the holder of a job', async (spine) => {
    const [fetched, empty, broken] = [await create(spine), await create(spine), await create(spine)];
    await create(spine, {
      target: 'after',
      after: [{ job: fetched.id }, { job: empty.id }, { job: broken.id, on: 'complete' }],
    });
    await finished(spine, fetched, { rows: [1, 2], text: 'ä "quoted"' });
    await finished(spine, empty);
    await failed(spine, broken, false);
    await settleAll(spine);
    const [claimed] = await claimNext(spine, { targets: ['after'] });
    assert.ok(claimed);
    assert.deepEqual(parsed(await inputs(spine, claimed.job)), {
      [fetched.id]: { rows: [1, 2], text: 'ä "quoted"' },
      [empty.id]: null,
      [broken.id]: null,
    });
  });

  each(
    'hands on the result of the last try, where the tries of a job before it were jobs of their own',
    async (spine) => {
      const first = await create(spine, {
        target: 'flaky',
        retry: { mode: 'lineage', max: 2, backoffMs: 0 },
      });
      const next = await create(spine, {
        target: 'after',
        after: [{ job: first.id }],
        retry: { mode: 'lineage', max: 1, backoffMs: 0 },
      });
      await failed(spine, first);
      await settleAll(spine);
      const [again] = await claimNext(spine, { targets: ['flaky'] });
      assert.ok(again);
      await spine.engine.leases.complete(WORKER, again.job.id, again.job.leaseToken, 'second try');
      await settleAll(spine);
      const [claimed] = await claimNext(spine, { targets: ['after'] });
      assert.equal(claimed?.job.id, next.id);
      assert.deepEqual(parsed(await inputs(spine, claimed.job)), { [first.id]: 'second try' });
      // A retry of the dependent is handed the same.
      await spine.engine.leases.fail(WORKER, next.id, claimed.job.leaseToken, 'broken', true);
      await settleAll(spine);
      const [retry] = await claimNext(spine, { targets: ['after'] });
      assert.notEqual(retry?.job.id, next.id);
      assert.deepEqual(retry && parsed(await inputs(spine, retry.job)), { [first.id]: 'second try' });
    },
  );

  each('a job that waits for none is read as before, and has no inputs', async (spine) => {
    const job = await create(spine);
    const [claimed] = await claimNext(spine);
    assert.deepEqual([claimed?.job.dependencies, claimed && (await inputs(spine, claimed.job))], [0, null]);
    assert.equal(claimed?.job.id, job.id);
  });

  each(
    'names the jobs whose results are too large, and reads no more than a claim may bring',
    async (spine) => {
      const half = 'x'.repeat(LIMITS.inputsBytes / 2 - 100);
      const before: Job[] = [];
      for (let i = 0; i < 3; i++) {
        const job = await create(spine);
        await finished(spine, job, half);
        before.push(job);
      }
      await create(spine, { target: 'after', after: before.map(({ id }) => ({ job: id })) });
      const [claimed] = await claimNext(spine, { targets: ['after'] });
      const found = claimed && (await inputs(spine, claimed.job));
      assert.deepEqual(
        found?.results.map(({ id, result }) => [id, result?.length]),
        before.slice(0, 2).map(({ id }) => [id, half.length + 2]),
      );
      assert.deepEqual(found?.leftOut, [before[2]?.id]);
    },
  );

  each('counts inputs with what a claim may hold, before it is committed', async (spine) => {
    const large = await create(spine);
    await finished(spine, large, 'x'.repeat(1_000_000));
    for (let i = 0; i < 10; i++) await create(spine, { target: 'after', after: [{ job: large.id }] });
    const claimed = await claimNext(spine, { targets: ['after'], max: 100 });
    assert.equal(claimed.length, Math.floor(LIMITS.answerBytes / 1_001_100));
  });
}

const WORKER = { name: 'w', role: 'worker', targets: null } as const;
