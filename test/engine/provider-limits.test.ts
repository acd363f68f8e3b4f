import assert from 'node:assert/strict';
import type { Job } from '../../src/domain/job.ts';
import { liftPauses } from '../../src/engine/provider-limits.ts';
import { deliveries } from '../support/delivering.ts';
import {
  create,
  DIALECTS,
  eventKinds,
  HEAD,
  onEvery,
  type Opened,
  POSTGRES,
  read,
  refused,
  settleAll,
  worker,
} from '../support/engines.ts';

const OPTIONS = { chat: { channel: 'telegram', target: '-100', batchMs: 0 } };
const W = worker('w');

async function types({ engine }: Opened): Promise<void> {
  await engine.types.save(HEAD, { name: 'summary', provider: 'anthropic' });
  await engine.types.save(HEAD, { name: 'review', provider: 'anthropic' });
  await engine.types.save(HEAD, { name: 'image', provider: 'openai' });
  await engine.types.save(HEAD, { name: 'crawl' });
}

async function failing(spine: Opened, type: string, error: unknown): Promise<Job> {
  const job = await create(spine, { type, announce: true });
  await spine.engine.leases.claim(W, job.id, { policy: 'presence' });
  await spine.engine.leases.fail(W, job.id, null, error, true);
  await settleAll(spine);
  return read(spine, job);
}

/** What is handed out now, by type. */
async function handedOut(spine: Opened): Promise<number[]> {
  const claimed = await spine.engine.leases.claimNext(W, { targets: ['any'], max: 50, waitMs: 0 });
  for (const { job } of claimed) await spine.engine.leases.release(W, job.id, job.leaseToken, null);
  return claimed.map(({ job }) => job.typeNo).toSorted((a, b) => a - b);
}

async function pauses({ engine }: Opened): Promise<unknown[]> {
  return (await engine.routing.current()).pauses.map(({ kind, name, by, untilAt }) => [
    kind,
    name,
    by,
    untilAt,
  ]);
}

async function typeNos({ engine }: Opened, ...names: readonly string[]): Promise<number[]> {
  const all = await engine.types.list('', 100);
  return names.map((name) => all.find((type) => type.name === name)?.no ?? 0).toSorted((a, b) => a - b);
}

onEvery(DIALECTS, (each) => {
  each(
    'a limit parks the work of its provider alone, uses no attempt and no retry, and ends by itself',
    async (spine) => {
      await types(spine);
      for (const type of ['review', 'image', 'crawl']) await create(spine, { type });
      const job = await failing(spine, 'summary', '429 Too Many Requests, retry after 90 s');
      assert.deepEqual(
        [job.state, job.attempts, job.retryCount, job.claimedBy, job.reason],
        ['queued', 0, 0, null, 'anthropic is at its limit'],
      );
      assert.deepEqual(await eventKinds(spine, job), ['job.created', 'job.claimed', 'job.released']);
      const untilAt = spine.engine.core.now() + 90_000;
      assert.deepEqual(await pauses(spine), [['provider', 'anthropic', 'provider-limits', untilAt]]);
      assert.deepEqual(await handedOut(spine), await typeNos(spine, 'crawl', 'image'));
      const byId = await refused(spine.engine.leases.claim(W, job.id));
      assert.equal(byId.code, 'paused');
      const until = new Date(untilAt).toISOString();
      assert.deepEqual(
        (await deliveries(spine)).map(({ text }) => text),
        [`*anthropic* is at its limit. Its work waits until ${until} and no attempt is used up.`],
      );
      await spine.clock.advance(89_999);
      assert.deepEqual(await liftPauses(spine.engine.core), { lifted: 0, nextAt: untilAt });
      await spine.clock.advance(1);
      assert.deepEqual(await liftPauses(spine.engine.core), { lifted: 1, nextAt: null });
      assert.equal((await handedOut(spine)).length, 4);
      const acts = (await spine.engine.audit.list(null, 2)).map(({ by, action, subject }) => [
        by,
        action,
        subject,
      ]);
      assert.deepEqual(acts, [
        ['provider-limits', 'provider.resume', 'anthropic'],
        ['provider-limits', 'provider.pause', 'anthropic'],
      ]);
    },
    OPTIONS,
  );

  each(
    'limits that come again last longer, and people are told of the first one',
    async (spine) => {
      await types(spine);
      for (const minutes of [1, 2, 4]) {
        const job = await failing(spine, 'summary', 'rate limit exceeded');
        assert.deepEqual(await pauses(spine), [
          ['provider', 'anthropic', 'provider-limits', spine.engine.core.now() + minutes * 60_000],
        ]);
        await spine.clock.advance(minutes * 60_000);
        await liftPauses(spine.engine.core);
        assert.equal(job.attempts, 0);
      }
      assert.equal((await deliveries(spine)).length, 1);
    },
    OPTIONS,
  );

  each(
    'a job whose every attempt tells of a limit is held back ten times in a row, and has failed then',
    async (spine) => {
      const { engine, clock } = spine;
      await types(spine);
      const job = await create(spine, { type: 'summary', maxAttempts: 2 });
      const attempts: number[] = [];
      for (let i = 0; i < 22; i++) {
        const { job: held } = await engine.leases.claim(W, job.id);
        await engine.jobs.comment(W, job.id, 'on it');
        const error = '429 rate limit, resets at 2020-01-01T00:00:00Z';
        attempts.push((await engine.leases.fail(W, job.id, held.leaseToken, error, true)).job.attempts);
        await clock.advance(3_600_000);
        await liftPauses(engine.core);
      }
      const tenTimes = (value: number): number[] => Array.from({ length: 10 }, () => value);
      assert.deepEqual(attempts, [...tenTimes(0), 1, ...tenTimes(1), 2]);
      assert.equal((await read(spine, job)).state, 'dead');
    },
    OPTIONS,
  );

  each('what was under way reports the same limit, and a later end counts', async (spine) => {
    await types(spine);
    const jobs = [];
    for (const type of ['summary', 'review', 'review']) {
      const job = await create(spine, { type });
      await spine.engine.leases.claim(W, job.id, { policy: 'presence' });
      jobs.push(job);
    }
    const startedAt = spine.engine.core.now();
    for (const [i, seconds] of [60, 300, 10].entries())
      await spine.engine.leases.fail(W, jobs[i]?.id ?? '', null, `HTTP 429, retry after ${seconds}`, true);
    assert.deepEqual(await pauses(spine), [
      ['provider', 'anthropic', 'provider-limits', startedAt + 300_000],
    ]);
    await spine.clock.advance(60_000);
    assert.equal((await liftPauses(spine.engine.core)).lifted, 0);
  });

  each('a person ends it earlier, or makes it last', async (spine) => {
    await types(spine);
    await failing(spine, 'summary', 'HTTP 429');
    await spine.engine.routing.resume(HEAD, 'provider', 'anthropic');
    assert.deepEqual(await handedOut(spine), await typeNos(spine, 'summary'));
    await failing(spine, 'summary', 'HTTP 429');
    await spine.engine.routing.pause(HEAD, 'provider', 'anthropic');
    await spine.clock.advance(3_600_000);
    await liftPauses(spine.engine.core);
    assert.deepEqual(await pauses(spine), [['provider', 'anthropic', 'head', null]]);
    await failing(spine, 'image', 'HTTP 429');
    assert.equal((await pauses(spine)).length, 2);
  });

  each('without a provider, or where nobody wants it again, the failure is one', async (spine) => {
    await types(spine);
    const crawl = await failing(spine, 'crawl', 'HTTP 429');
    assert.deepEqual([crawl.state, crawl.attempts], ['failed', 1]);
    const plain = await failing(spine, 'summary', 'HTTP 500');
    assert.deepEqual([plain.state, plain.attempts], ['failed', 1]);
    assert.deepEqual(await pauses(spine), []);
    const job = await create(spine, { type: 'summary' });
    const { job: held } = await spine.engine.leases.claim(W, job.id);
    await spine.engine.leases.fail(W, job.id, held.leaseToken, 'HTTP 429', false);
    assert.equal((await read(spine, job)).state, 'failed');
    assert.equal((await pauses(spine)).length, 1, 'the provider is at its limit all the same');
  });

  each('under a lease of its own it is the same, and said twice it counts once', async (spine) => {
    await types(spine);
    const job = await create(spine, { type: 'summary', maxAttempts: 1 });
    const { job: held } = await spine.engine.leases.claim(W, job.id);
    for (let said = 0; said < 2; said++) {
      const { job: after } = await spine.engine.leases.fail(W, job.id, held.leaseToken, 'HTTP 429', true);
      assert.deepEqual([after.state, after.attempts], ['queued', 0]);
    }
    assert.equal(
      (await spine.engine.audit.list(null, 10)).filter(({ action }) => action === 'provider.pause').length,
      1,
    );
  });
});

onEvery([POSTGRES], (each) => {
  each('every server holds back what one of them was told of, and all end it together', async (spine) => {
    const other = await spine.another?.();
    assert.ok(other);
    await using _ = other;
    await types(spine);
    await create(other, { type: 'summary' });
    assert.equal((await handedOut(other)).length, 1);
    await failing(spine, 'summary', 'HTTP 429');
    assert.deepEqual(await handedOut(other), []);
    await Promise.all([spine.clock.advance(60_000), other.clock.advance(60_000)]);
    other.engine.core.forgetRouting();
    await Promise.all([liftPauses(spine.engine.core), liftPauses(other.engine.core)]);
    assert.equal((await handedOut(other)).length, 2);
  });
});
