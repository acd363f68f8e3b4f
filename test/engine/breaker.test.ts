import assert from 'node:assert/strict';
import type { Job } from '../../src/domain/job.ts';
import { loopActor } from '../../src/domain/actor.ts';
import { endAbandoned } from '../../src/engine/abandoned-leases.ts';
import { everyJob } from '../conformance/events.ts';
import { deliveries } from '../support/delivering.ts';
import {
  create,
  DIALECTS,
  HEAD,
  onEvery,
  type Opened,
  POSTGRES,
  read,
  settleAll,
  worker,
} from '../support/engines.ts';

const OPTIONS = { chat: { channel: 'telegram', target: '-100', batchMs: 0 } };
const W = worker('w');

async function begun({ engine }: Opened, job: Pick<Job, 'id'>): Promise<Job> {
  return (await engine.leases.claim(W, job.id, { policy: 'presence' })).job;
}

async function failedAs(spine: Opened, job: Pick<Job, 'id'>, error: unknown): Promise<void> {
  await begun(spine, job);
  await spine.engine.leases.fail(W, job.id, null, error, true);
  await settleAll(spine);
}

/** A task of its own for each reason. */
async function failing(spine: Opened, ...reasons: readonly unknown[]): Promise<void> {
  for (const reason of reasons)
    await failedAs(spine, await create(spine, { type: 'crawl', retry: { mode: 'lineage' } }), reason);
}

async function succeeding(spine: Opened): Promise<void> {
  const job = await begun(spine, await create(spine, { type: 'crawl' }));
  await spine.engine.leases.complete(W, job.id, null, null);
}

async function pauses({ engine }: Opened): Promise<string[]> {
  return (await engine.routing.current()).pauses.map(({ kind, name, by }) => `${kind} ${name} ${by}`);
}

async function alerts(spine: Opened): Promise<(string | null)[]> {
  return (await deliveries(spine)).map(({ text }) => text).filter((text) => text?.includes(' paused: '));
}

const OPEN = ['type crawl breaker'];

onEvery(DIALECTS, (each) => {
  each(
    'three tasks of a type that fail alike pause it with one alert, and nothing of another type',
    async (spine) => {
      await failing(spine, 'HTTP 503 after 10 s', 'HTTP 503 after 21 s');
      assert.deepEqual([await pauses(spine), await alerts(spine)], [[], []]);
      const underWay = await begun(spine, await create(spine, { type: 'crawl' }));
      await failing(spine, 'HTTP 503 after 32 s');
      assert.deepEqual(await pauses(spine), OPEN);
      const alert =
        '*crawl* paused: 3 jobs in a row failed the same way. Reason: HTTP 503 after 32 s. Resume it when the cause is gone.';
      assert.deepEqual(await alerts(spine), [alert]);
      // What was handed out before goes on, and says nothing new.
      await spine.engine.leases.fail(W, underWay.id, null, 'HTTP 503 after 43 s', true);
      await settleAll(spine);
      assert.deepEqual(await alerts(spine), [alert]);
      const other = await create(spine, { type: 'other' });
      const [taken, ...more] = await spine.engine.leases.claimNext(W, {
        targets: ['any'],
        max: 9,
        waitMs: 0,
      });
      assert.deepEqual([taken?.job.id, more.length], [other.id, 0], 'the retries wait with their type');
      const [act] = await spine.engine.audit.list(null, 1);
      assert.deepEqual([act?.by, act?.action], ['breaker', 'type.pause']);
    },
    OPTIONS,
  );

  each(
    'whoever resumes the type has it count anew, and what has waited is handed out',
    async (spine) => {
      await failing(spine, 'a', 'a', 'a');
      await spine.engine.routing.resume(HEAD, 'type', 'crawl');
      await failing(spine, 'a', 'a');
      assert.deepEqual(await pauses(spine), []);
      await failing(spine, 'a');
      assert.deepEqual([await pauses(spine), (await alerts(spine)).length], [OPEN, 2]);
    },
    OPTIONS,
  );

  each('the retries of one task are no failures of others', async (spine) => {
    await failing(spine, 'a', 'a');
    for (let retry = 0; retry < 3; retry++) {
      const last = (await everyJob(spine)).toSorted((a, b) => a.no - b.no).at(-1);
      assert.ok(last && last.retryCount === retry + 1);
      await failedAs(spine, last, 'a');
    }
    assert.deepEqual(await pauses(spine), []);
    await failing(spine, 'a');
    assert.deepEqual(await pauses(spine), OPEN);
  });

  each('a success between them, or another failure, begins the count anew', async (spine) => {
    await failing(spine, 'a', 'a');
    await succeeding(spine);
    await failing(spine, 'a', 'a', 'b', 'a', 'a');
    assert.deepEqual(await pauses(spine), []);
    await failing(spine, 'a');
    assert.deepEqual(await pauses(spine), OPEN);
  });

  each('silence, lost workers, work without a type and other doors open nothing', async (spine) => {
    await failing(spine, null, null, null);
    for (let lost = 0; lost < 3; lost++) {
      const job = await begun(spine, await create(spine, { type: 'crawl' }));
      await spine.clock.advance(3_600_000);
      await endAbandoned(spine.engine.core, loopActor('stuck-detector'));
      assert.equal((await read(spine, job)).cause, 'stale');
      await settleAll(spine);
      const own = await create(spine, { type: 'crawl' });
      const { job: held } = await spine.engine.leases.claim(W, own.id);
      await spine.engine.leases.fail(W, own.id, held.leaseToken, 'a', false);
      await failedAs(spine, await create(spine), 'a');
    }
    assert.deepEqual(await pauses(spine), []);
  });

  each(
    'it can be switched off',
    async (spine) => {
      await failing(spine, 'a', 'a', 'a', 'a');
      assert.deepEqual(await pauses(spine), []);
    },
    { breakerFailures: 0 },
  );
});

onEvery([POSTGRES], (each) => {
  each(
    'two servers that count at once miss none, and one of them tells',
    async (spine) => {
      const other = await spine.another?.(OPTIONS);
      assert.ok(other);
      await using _ = other;
      const jobs = await Promise.all(
        Array.from({ length: 3 }, async () => begun(spine, await create(spine, { type: 'crawl' }))),
      );
      for (const { id } of jobs) await spine.engine.leases.fail(W, id, null, 'a', true);
      await Promise.all([settleAll(spine), settleAll(other)]);
      assert.deepEqual([await pauses(spine), (await alerts(spine)).length], [OPEN, 1]);
    },
    OPTIONS,
  );
});
