import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { operatorWebhook } from '../../src/channels/operator-webhook.ts';
import { isFinal, type Job } from '../../src/domain/job.ts';
import { gauge, sequencer, waiterPoll } from '../../src/loops/keepers.ts';
import { Loop } from '../../src/loops/loop.ts';
import { notifier } from '../../src/loops/notifier.ts';
import { Pruner } from '../../src/loops/pruner.ts';
import { timers } from '../../src/loops/timers.ts';
import { until } from '../support/clock.ts';
import type { Reads, Store } from '../../src/store/store.ts';
import { everyJob } from '../conformance/events.ts';
import {
  claimNext,
  claimed,
  create,
  createMany,
  DIALECTS,
  failed,
  finished,
  HEAD,
  onEvery,
  type OpenOptions,
  outboxSize,
  read,
  SQLITE_MEMORY,
  settleAll,
  stateOf,
  SYSTEM,
} from '../support/engines.ts';

const DAY_MS = 86_400_000;

onEvery([SQLITE_MEMORY], (each) => {
  each(
    'releases a delayed job exactly when it is due, and the timer was set for that moment',
    async (spine) => {
      const loop = new Loop(
        timers(spine.engine.core, () => 0),
        spine.clock,
        (_, error) => assert.fail(String(error)),
      );
      spine.engine.core.hints.timed = () => loop.wake();
      loop.start();
      const jobs: Job[] = [];
      for (const delayMs of [1_234, 7, 60_001])
        jobs.push(await create(spine, { runAt: spine.engine.now() + delayMs }));
      const [middle, first, last] = jobs as [Job, Job, Job];
      const queuedAt = async (job: Job): Promise<number> =>
        ((await spine.engine.jobs.events(HEAD, job.id, 0, 9)).find(({ kind }) => kind === 'job.queued')?.at ??
          0) - job.createdAt;
      await spine.clock.advance(70_000);
      assert.deepEqual(
        [await queuedAt(first), await queuedAt(middle), await queuedAt(last)],
        [7, 1_234, 60_001],
      );
      await loop.stop();
    },
  );

  each('what a loop does stands in the events under its own name', async (spine) => {
    const parent = await create(spine);
    const dependent = await create(spine, { after: [{ job: parent.id }] });
    const delayed = await create(spine, { runAt: spine.engine.now() + 1_000 });
    const slow = await create(spine, { timeoutMs: 1_000 });
    await claimed(spine, slow);
    await finished(spine, parent);
    await settleAll(spine);
    await spine.clock.advance(1_000);
    await timers(spine.engine.core, () => 0).runOnce();
    const lastBy = async (job: Job): Promise<string | undefined> =>
      (await spine.engine.jobs.events(HEAD, job.id, 0, 9)).at(-1)?.by;
    assert.equal(await lastBy(dependent), 'settler');
    assert.equal(await lastBy(delayed), 'timers');
    assert.equal(await lastBy(slow), 'timers');
  });

  each('ends an attempt at the very moment its time is over', async (spine) => {
    const loop = new Loop(
      timers(spine.engine.core, () => 0),
      spine.clock,
      (_, error) => assert.fail(String(error)),
    );
    spine.engine.core.hints.timed = () => loop.wake();
    loop.start();
    const job = await create(spine, { timeoutMs: 3_333 });
    const held = await claimed(spine, job);
    await spine.clock.advance(3_332);
    assert.equal(await stateOf(spine, job), 'running');
    await spine.clock.advance(1);
    assert.equal(await stateOf(spine, job), 'queued');
    assert.equal((await read(spine, job)).updatedAt, held.timeoutAt ?? 0);
    await loop.stop();
  });
});

const outbox: OpenOptions['outbox'] = (job) => ({
  channel: 'webhook',
  kind: `job.${job.state}`,
  jobNo: job.no,
  body: JSON.stringify({ id: job.id }),
  at: job.updatedAt,
});

onEvery(DIALECTS, (each) => {
  each(
    'delivers a notice until the receiver took it, with growing pauses, and then forgets it',
    async (spine) => {
      const answers = [500, 503, 200];
      const got: { id: unknown; signature: unknown; body: string }[] = [];
      await using receiver = await listenWith(async (request) => {
        got.push({
          id: request.headers['x-spine-notice'],
          signature: request.headers['x-spine-signature'],
          body: await text(request),
        });
        return answers.shift() ?? 200;
      });
      const duty = notifier(spine.engine.core, [
        operatorWebhook({ url: receiver.url, secret: 's', now: () => spine.clock.now() }),
      ]);
      const job = await create(spine);
      assert.equal((await duty.runOnce()).done, 0);
      await finished(spine, job);
      assert.equal(await outboxSize(spine.store), 1);
      assert.equal((await duty.runOnce()).done, 1);
      for (const pauseMs of [5_000, 10_000]) {
        assert.equal(await outboxSize(spine.store), 1);
        await spine.clock.advance(pauseMs - 100);
        assert.equal((await duty.runOnce()).done, 0, 'too early');
        await spine.clock.advance(200);
        assert.equal((await duty.runOnce()).done, 1);
      }
      assert.equal(await outboxSize(spine.store), 0);
      assert.equal(got.length, 3);
      assert.equal(new Set(got.map(({ id }) => id)).size, 1, 'every try must carry the same id');
      assert.equal(got[0]?.body, JSON.stringify({ id: job.id }));
      assert.match(String(got[0]?.signature), /^t=\d+,v1=[0-9a-f]{64}$/);
      assert.equal(new Set(got.map(({ signature }) => signature)).size, 3, 'every try is signed anew');
    },
    { outbox },
  );

  each(
    'keeps a notice whose receiver cannot be reached, or whose channel is gone',
    async (spine) => {
      await finished(spine, await create(spine));
      const closed = await listenWith(async () => 200);
      await closed[Symbol.asyncDispose]();
      await notifier(spine.engine.core, [
        operatorWebhook({ url: closed.url, secret: null, now: () => 0 }),
      ]).runOnce();
      assert.equal(await outboxSize(spine.store), 1);
      await spine.clock.advance(60_000);
      await notifier(spine.engine.core, []).runOnce();
      assert.equal(await outboxSize(spine.store), 1);
    },
    { outbox },
  );

  each(
    'has a notice for every end and for nothing else, in the commit that ended the job',
    async (spine) => {
      const [done, dead, waiting] = [
        await create(spine),
        await create(spine, { maxAttempts: 1 }),
        await create(spine),
      ];
      await finished(spine, done);
      await failed(spine, dead);
      await failed(spine, waiting);
      await spine.engine.jobs.cancel(HEAD, waiting.id, null);
      const rows = await spine.store.transaction(0, async (tx) => tx.outbox.claim(spine.engine.now(), 10, 1));
      assert.deepEqual(
        rows.map(({ kind }) => kind),
        ['job.done', 'job.dead', 'job.cancelled'],
      );
    },
    { outbox },
  );

  each('forgets finished jobs after the retention time, and nothing else', async (spine) => {
    const [done, dead, open, running] = [
      await create(spine),
      await create(spine, { maxAttempts: 1 }),
      await create(spine),
      await create(spine),
    ];
    await finished(spine, done);
    await failed(spine, dead);
    await claimed(spine, running);
    await spine.clock.advance(30 * DAY_MS + 1);
    const young = await create(spine);
    await finished(spine, young);
    await create(spine);
    const forgotten: string[] = [];
    const pruner = new Pruner(spine.engine.core, {
      everyMs: 60_000,
      retentionMs: 30 * DAY_MS,
      forget: async (ids) => void forgotten.push(...ids),
    });
    await runWhole(pruner);
    assert.deepEqual(forgotten.toSorted(), [done.id, dead.id].toSorted());
    assert.deepEqual((await everyJob(spine)).map(({ id }) => id).toSorted().length, 4);
    assert.deepEqual(
      [await stateOf(spine, open), await stateOf(spine, running), await stateOf(spine, young)],
      ['queued', 'running', 'done'],
    );
    const counted = (await spine.engine.counts()).reduce((sum, { n }) => sum + n, 0);
    assert.equal(counted, 4);
    await assert.rejects(spine.engine.jobs.get(HEAD, done.id), { code: 'not_found' });
  });

  each('keeps everything when it is told to', async (spine) => {
    await finished(spine, await create(spine));
    await spine.clock.advance(9_999 * DAY_MS);
    await create(spine);
    await runWhole(
      new Pruner(spine.engine.core, {
        everyMs: 60_000,
        retentionMs: 0,
        forget: () => assert.fail('nothing may be forgotten'),
      }),
    );
    assert.equal((await everyJob(spine)).length, 2);
  });

  each('keeps a parent as long as its children, and forgets the family from below', async (spine) => {
    const parent = await create(spine);
    const child = await create(spine, { parentId: parent.id });
    const dependent = await create(spine, { after: [{ job: parent.id }] });
    await finished(spine, parent);
    await settleAll(spine);
    await spine.clock.advance(DAY_MS * 2);
    await create(spine);
    const pruner = new Pruner(spine.engine.core, {
      everyMs: 60_000,
      retentionMs: DAY_MS,
      forget: async () => undefined,
    });
    await runWhole(pruner);
    assert.equal((await everyJob(spine)).length, 4);
    await finished(spine, child);
    await finished(spine, dependent);
    await spine.clock.advance(DAY_MS * 2);
    await runWhole(pruner);
    await runWhole(pruner);
    assert.equal((await everyJob(spine)).length, 1);
    assert.ok((await everyJob(spine)).every(({ state }) => !isFinal(state)));
  });

  each('counts the unfinished jobs, so that the limit is judged by them', async (spine) => {
    await createMany(spine, 5);
    await finished(spine, (await everyJob(spine))[0] as Job);
    await gauge(spine.engine.core).runOnce();
    assert.equal(spine.engine.core.unfinished, 4);
  });

  each('gives every commit its place in the feed', async (spine) => {
    await createMany(spine, 3);
    await finished(spine, (await everyJob(spine))[0] as Job);
    await sequencer(spine.engine.core).runOnce();
    assert.equal((await spine.engine.jobs.feed({ pos: 0, ordinal: -1 }, 100)).length, 5);
  });

  each('lets those who wait look again now and then, in case a hint was lost', async (spine) => {
    const waiting = claimNext(spine, { waitMs: 60_000 });
    await until('it waits', () => spine.engine.core.waiters.size === 1);
    await spine.engine.core.flusher.transact(SYSTEM, async (tx) => tx.routing.revision());
    // A job that came without a hint, as from another server.
    const { row } = await import('../conformance/rows.ts');
    await spine.store.transaction(0, async (tx) => tx.jobs.insert([row()]));
    await waiterPoll(spine.engine.core).runOnce();
    assert.equal((await waiting).length, 1);
  });
});

onEvery([SQLITE_MEMORY], (each) => {
  let reopen: (() => Promise<unknown>) | null = null;
  /** Does something between the pruner's look and its deed. */
  const wrap = (store: Store): Store => {
    const prunable: Reads['jobs']['prunable'] = async (...args) => {
      const found = await store.read.jobs.prunable(...args);
      if (found.jobs.length > 0) await reopen?.();
      return found;
    };
    const reads: Reads = { ...store.read, jobs: { ...store.read.jobs, prunable } };
    return new Proxy(store, {
      get: (target, name: keyof Store) => {
        if (name === 'read') return reads;
        const value = target[name];
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
      },
    });
  };

  each(
    'never forgets a job that was reopened just now',
    async (spine) => {
      const job = await create(spine);
      await finished(spine, job);
      await spine.clock.advance(DAY_MS * 2);
      await create(spine);
      reopen = async () => {
        reopen = null;
        await spine.engine.jobs.retry(HEAD, job.id);
      };
      await runWhole(
        new Pruner(spine.engine.core, {
          everyMs: 60_000,
          retentionMs: DAY_MS,
          forget: async () => undefined,
        }),
      );
      assert.equal(reopen, null, 'the moment never came');
      assert.equal(await stateOf(spine, job), 'queued');
    },
    { wrap },
  );
});

async function runWhole(pruner: Pruner): Promise<void> {
  for (let pass = 0; pass < 100; pass++) if (!(await pruner.runOnce()).more) return;
  throw new Error('pruning never comes to an end');
}

async function listenWith(
  answer: (request: IncomingMessage) => Promise<number>,
): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    void answer(request).then((status) => response.writeHead(status).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
