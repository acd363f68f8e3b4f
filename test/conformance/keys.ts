import assert from 'node:assert/strict';
import type { IdempotencyKey, JobDraft } from '../../src/engine/engine.ts';
import {
  reasonOf,
  claimed,
  create,
  type Each,
  failed,
  finished,
  HEAD,
  type Opened,
  read,
  refusal,
  refused,
  settleAll,
} from '../support/engines.ts';

export function keyTopics(each: Each): void {
  each(
    'lets one of twenty creators with the same unique key win, and names the winner to the others',
    async (spine) => {
      const ends = await Promise.allSettled(
        Array.from({ length: 20 }, () => create(spine, { uniqueKey: 'k', type: 't' })),
      );
      const won = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
      assert.equal(won.length, 1);
      for (const end of ends) {
        if (end.status === 'rejected')
          assert.deepEqual(
            [reasonOf(end)?.code, reasonOf(end)?.details['jobId']],
            ['unique_key_taken', won[0]?.id],
          );
      }
    },
  );

  each('frees a unique key when its job ends, and keeps the keys of types apart', async (spine) => {
    const first = await create(spine, { uniqueKey: 'k', type: 'a' });
    await create(spine, { uniqueKey: 'k', type: 'b' });
    await create(spine, { uniqueKey: 'k' });
    await finished(spine, first);
    const again = await create(spine, { uniqueKey: 'k', type: 'a' });
    assert.notEqual(again.id, first.id);
    assert.equal(await refusal(create(spine, { uniqueKey: 'k', type: 'a' })), 'unique_key_taken');
  });

  each('refuses a batch that has the same unique key twice, and makes none of it', async (spine) => {
    const drafts: JobDraft[] = [
      { target: 'any' },
      { target: 'any', uniqueKey: 'k' },
      { target: 'any', uniqueKey: 'k' },
    ];
    assert.equal(await refusal(spine.engine.jobs.create(HEAD, drafts)), 'unique_key_taken');
    assert.deepEqual(await spine.engine.counts(), []);
  });

  each('does not reopen a job whose unique key another has taken since', async (spine) => {
    const first = await create(spine, { uniqueKey: 'k' });
    await finished(spine, first);
    const second = await create(spine, { uniqueKey: 'k' });
    const error = await refused(spine.engine.jobs.retry(HEAD, first.id));
    assert.deepEqual([error.code, error.details['jobId']], ['unique_key_taken', second.id]);
    await finished(spine, second);
    assert.equal((await spine.engine.jobs.retry(HEAD, first.id)).job.state, 'queued');
  });

  each('retries a lineage even if its unique key was taken meanwhile', async (spine) => {
    const first = await create(spine, { uniqueKey: 'k', retry: { mode: 'lineage', max: 2 } });
    const other = await create(spine, { retry: { mode: 'lineage', max: 2 } });
    await failed(spine, first);
    const ends = await Promise.allSettled([create(spine, { uniqueKey: 'k' })]);
    await failed(spine, other);
    await settleAll(spine);
    const family = (await read(spine, first)).settled === 2 && (await read(spine, other)).settled === 2;
    assert.ok(family, `settling must not stop at the taken key (${ends[0]?.status})`);
  });

  each(
    'answers the same idempotency key and body with the same jobs, another body with 422',
    async (spine) => {
      const first = await keyed(spine, 'k', 'hash', 2);
      assert.equal(first.replayed, false);
      const again = await keyed(spine, 'k', 'hash', 2);
      assert.equal(again.replayed, true);
      assert.deepEqual(
        again.jobs.map((job) => job.id),
        first.jobs.map((job) => job.id),
      );
      const error = await refused(keyed(spine, 'k', 'another hash'));
      assert.equal(error.code, 'idempotency_conflict');
    },
  );

  each('keeps the idempotency keys of two principals apart', async (spine) => {
    const mine = await keyed(spine, 'k', 'hash');
    const other = await spine.engine.jobs.create({ ...HEAD, name: 'other' }, [{ target: 'any' }], {
      key: 'k',
      bodyHash: 'hash',
    });
    assert.equal(other.replayed, false);
    assert.notEqual(other.jobs[0]?.id, mine.jobs[0]?.id);
  });

  each('makes one job of twenty calls with the same idempotency key at once', async (spine) => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => keyed(spine, 'k', 'hash')));
    assert.equal(new Set(answers.map((answer) => answer.jobs[0]?.id)).size, 1);
    assert.equal(answers.filter((answer) => !answer.replayed).length, 1);
    assert.deepEqual(await spine.engine.counts(), [{ target: 'any', state: 'queued', n: 1 }]);
  });

  each('answers several repeats of an old key in one flush alike', async (spine) => {
    const first = await keyed(spine, 'k', 'hash');
    const [a, wrong, b] = await Promise.allSettled([
      keyed(spine, 'k', 'hash'),
      keyed(spine, 'k', 'other'),
      keyed(spine, 'k', 'hash'),
    ]);
    assert.deepEqual(
      [a, b].map((end) => end?.status === 'fulfilled' && [end.value.replayed, end.value.jobs[0]?.id]),
      [
        [true, first.jobs[0]?.id],
        [true, first.jobs[0]?.id],
      ],
    );
    assert.equal(reasonOf(wrong)?.code, 'idempotency_conflict');
  });

  each(
    'refuses both of two equal calls in one flush when the first is refused, and remembers neither',
    async (spine) => {
      const holder = await create(spine, { uniqueKey: 'taken' });
      const draft: JobDraft = { target: 'any', uniqueKey: 'taken' };
      const call = (): Promise<unknown> =>
        spine.engine.jobs.create(HEAD, [draft], { key: 'k', bodyHash: 'hash' });
      const ends = await Promise.allSettled([call(), call()]);
      assert.deepEqual(
        ends.map((end) => reasonOf(end)?.code),
        ['unique_key_taken', 'unique_key_taken'],
      );
      await finished(spine, holder);
      await call();
    },
  );

  each('shows the current state of the jobs when a key is repeated', async (spine) => {
    const first = await keyed(spine, 'k', 'hash');
    await claimed(spine, first.jobs[0] as { id: string });
    assert.equal((await keyed(spine, 'k', 'hash')).jobs[0]?.state, 'running');
  });
}

function keyed(spine: Opened, key: string, bodyHash: string, count = 1) {
  const idempotency: IdempotencyKey = { key, bodyHash };
  return spine.engine.jobs.create(
    HEAD,
    Array.from({ length: count }, () => ({ target: 'any' })),
    idempotency,
  );
}
