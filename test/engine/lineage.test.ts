import assert from 'node:assert/strict';
import type { Job } from '../../src/domain/job.ts';
import {
  claimed,
  claimNext,
  create,
  DIALECTS,
  eventKinds,
  failed,
  HEAD,
  onEvery,
  type Opened,
  read,
  refusal,
  runTimers,
  settleAll,
  stateOf,
  worker,
} from '../support/engines.ts';
import { everyJob } from '../conformance/events.ts';

onEvery(DIALECTS, (each) => {
  each(
    'goes on with one new job after each failure, 30 s x 2^n later, until its retries are used up',
    async (spine) => {
      const root = await create(spine, {
        title: 'work',
        params: { a: 1 },
        priority: 4,
        type: 't',
        tags: ['x'],
        retry: { mode: 'lineage', max: 2, backoffMs: 30_000 },
      });
      let member = root;
      for (const [i, delayMs] of [30_000, 60_000].entries()) {
        await failed(spine, member);
        const failedAt = spine.engine.now();
        await settleAll(spine);
        assert.equal(await stateOf(spine, member), 'failed');
        const [next, ...more] = (await everyJob(spine)).filter((job) => job.retryOf === member.no);
        assert.equal(more.length, 0);
        assert.deepEqual([next?.state, next?.retryCount, next?.rootNo], ['scheduled', i + 1, root.no]);
        assert.equal((next?.runAt ?? 0) - failedAt, delayMs);
        assert.deepEqual(
          [next?.priority, next?.typeNo, next?.attempts, next?.fence, next?.claimedBy],
          [4, root.typeNo, 0, 0, null],
        );
        const details = (await spine.engine.jobs.details([next as Job])).get(next?.no ?? 0);
        assert.deepEqual(
          [details?.input.title, details?.input.params, details?.input.tags, details?.retryOfId],
          ['work', '{"a":1}', ['x'], member.id],
        );
        await spine.clock.advance(delayMs - 1);
        await runTimers(spine);
        assert.equal(await stateOf(spine, next as Job), 'scheduled');
        await spine.clock.advance(1);
        await runTimers(spine);
        assert.equal(await stateOf(spine, next as Job), 'queued');
        member = next as Job;
      }
      await failed(spine, member);
      await settleAll(spine);
      assert.equal(await stateOf(spine, member), 'dead');
      assert.equal((await everyJob(spine)).length, 3);
    },
  );

  each(
    'takes the number of its retries from its type, unless the job says one itself [TQ-06]',
    async (spine) => {
      await spine.engine.types.save(HEAD, { name: 'once', maxRetries: 1 });
      const retriesOf = async (draft: object) =>
        (await create(spine, { retry: { mode: 'lineage' }, ...draft })).retryMax;
      assert.deepEqual(
        [
          await retriesOf({ type: 'once' }),
          await retriesOf({ type: 'once', retry: { mode: 'lineage', max: 5 } }),
          await retriesOf({ type: 'unheard-of', newType: true }),
          await retriesOf({}),
        ],
        [1, 5, 3, 3],
      );
    },
  );

  each('makes one retry, however many servers settle the same failure', async (spine) => {
    const root = await create(spine, { retry: { mode: 'lineage', max: 3 } });
    await failed(spine, root);
    await Promise.all([settleAll(spine), settleAll(spine), settleAll(spine)]);
    assert.equal((await everyJob(spine)).length, 2);
    assert.deepEqual(await eventKinds(spine, root), [
      'job.created',
      'job.claimed',
      'job.failed',
      'job.retried',
    ]);
  });

  each('goes on after a lost lease and a timeout as after a failure', async (spine) => {
    for (const kind of ['expire', 'timeout'] as const) {
      const root = await create(spine, {
        retry: { mode: 'lineage', max: 3 },
        leaseMs: 1_000,
        timeoutMs: 1_000,
      });
      await claimed(spine, root);
      await spine.clock.advance(1_000);
      await spine.engine.core.perform({
        kind,
        id: root.id,
        actor: { name: 'system', role: 'system', targets: null },
      });
      await settleAll(spine);
      assert.equal(await stateOf(spine, root), 'failed');
      assert.equal((await everyJob(spine)).filter((job) => job.retryOf === root.no).length, 1, kind);
    }
  });

  each('does not go on when nobody wants it again, or when it is cancelled', async (spine) => {
    const unwanted = await create(spine, { retry: { mode: 'lineage', max: 3 } });
    await failed(spine, unwanted, false);
    const stopped = await create(spine, { retry: { mode: 'lineage', max: 3 } });
    const held = await claimed(spine, stopped);
    await spine.engine.jobs.cancel(HEAD, stopped.id, null);
    await spine.engine.leases.fail(worker('w'), stopped.id, held.leaseToken, 'x', true);
    await settleAll(spine);
    assert.deepEqual(
      [await stateOf(spine, unwanted), await stateOf(spine, stopped)],
      ['failed', 'cancelled'],
    );
    assert.equal((await everyJob(spine)).length, 2);
  });

  each('keeps the unique key with the lineage', async (spine) => {
    const root = await create(spine, { uniqueKey: 'k', retry: { mode: 'lineage', max: 1 } });
    await failed(spine, root);
    await settleAll(spine);
    assert.equal(await refusal(create(spine, { uniqueKey: 'k' })), 'unique_key_taken');
    await finishNext(spine);
    await create(spine, { uniqueKey: 'k' });
  });

  each('goes on without its unique key when another job has taken that meanwhile', async (spine) => {
    const root = await create(spine, { uniqueKey: 'k', retry: { mode: 'lineage', max: 1 } });
    await failed(spine, root);
    const other = await create(spine, { uniqueKey: 'k', target: 'elsewhere' });
    await settleAll(spine);
    const [retry, ...more] = (await everyJob(spine)).filter(({ retryOf }) => retryOf === root.no);
    assert.deepEqual([retry?.uniqueKey, retry?.retryCount, more], [null, 1, []]);
    assert.equal((await read(spine, other)).uniqueKey, 'k');
  });

  each('does not reopen a member whose lineage went on, but may reopen the last', async (spine) => {
    const root = await create(spine, { retry: { mode: 'lineage', max: 1 } });
    await failed(spine, root);
    assert.equal(await refusal(spine.engine.jobs.retry(HEAD, root.id)), 'conflict');
    await settleAll(spine);
    assert.equal(await refusal(spine.engine.jobs.retry(HEAD, root.id)), 'conflict');
    const [last] = await claimNext(spine);
    await spine.engine.leases.fail(HEAD, last?.job.id ?? '', null, 'x', true);
    assert.equal((await spine.engine.jobs.retry(HEAD, last?.job.id ?? '')).job.state, 'queued');
    assert.equal((await read(spine, root)).state, 'failed');
  });
});

async function finishNext(spine: Opened): Promise<void> {
  const [held] = await claimNext(spine);
  await spine.engine.leases.complete(HEAD, held?.job.id ?? '', held?.job.leaseToken ?? null, null);
}
