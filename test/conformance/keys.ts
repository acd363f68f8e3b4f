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
import { everyJob } from './events.ts';

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

  each('keeps the unique keys of types apart within one flush too', async (spine) => {
    const same = ['a', 'b', undefined].map((type) => ({
      uniqueKey: 'k',
      target: 'any',
      ...(type && { type }),
    }));
    await Promise.all(same.map((draft) => spine.engine.jobs.create(HEAD, [draft])));
    assert.equal((await everyJob(spine)).length, 3);
    const batch = same.map((draft) => ({ ...draft, uniqueKey: 'other' }));
    assert.equal((await spine.engine.jobs.create(HEAD, batch)).jobs.length, 3);
  });

  each('sees a unique key whatever its unfinished holder is doing', async (spine) => {
    const { engine } = spine;
    const parent = await create(spine);
    const holders = {
      queued: await create(spine, { uniqueKey: 'queued' }),
      running: await claimed(spine, await create(spine, { uniqueKey: 'running' })),
      scheduled: await create(spine, { uniqueKey: 'scheduled', runAt: engine.now() + 60_000 }),
      blocked: await create(spine, { uniqueKey: 'blocked', after: [{ job: parent.id }] }),
      awaiting_approval: await create(spine, { uniqueKey: 'awaiting_approval', approval: {} }),
    };
    for (const [state, holder] of Object.entries(holders)) {
      assert.equal(holder.state, state);
      const error = await refused(create(spine, { uniqueKey: state }));
      assert.deepEqual([error.code, error.details['jobId']], ['unique_key_taken', holder.id], state);
    }
  });

  each('does not reopen a job whose unique key a running job holds', async (spine) => {
    const first = await create(spine, { uniqueKey: 'k' });
    await finished(spine, first);
    const second = await claimed(spine, await create(spine, { uniqueKey: 'k' }));
    const error = await refused(spine.engine.jobs.retry(HEAD, first.id));
    assert.deepEqual([error.code, error.details['jobId']], ['unique_key_taken', second.id]);
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
    const holder = await create(spine, { uniqueKey: 'k' });
    await failed(spine, other);
    await settleAll(spine);
    for (const job of [first, other]) {
      assert.equal((await read(spine, job)).settled, 2);
      const [retry, ...more] = (await everyJob(spine)).filter(({ retryOf }) => retryOf === job.no);
      assert.deepEqual([retry?.uniqueKey, retry?.state, more.length], [null, 'queued', 0]);
    }
    assert.equal(await refusal(create(spine, { uniqueKey: 'k' })), 'unique_key_taken');
    assert.equal((await read(spine, holder)).uniqueKey, 'k');
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

  each('refuses another body under a key that is new in the same flush', async (spine) => {
    const [first, other, again] = await Promise.allSettled([
      keyed(spine, 'k', 'hash'),
      keyed(spine, 'k', 'another hash'),
      keyed(spine, 'k', 'hash'),
    ]);
    assert.equal(reasonOf(other)?.code, 'idempotency_conflict');
    assert.deepEqual(
      [first, again].map((end) => end?.status === 'fulfilled' && end.value.replayed),
      [false, true],
    );
    assert.deepEqual(await spine.engine.counts(), [{ target: 'any', state: 'queued', n: 1 }]);
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
