import assert from 'node:assert/strict';
import { Client } from 'pg';
import { until } from '../support/clock.ts';
import { type Job, SETTLED, type State } from '../../src/domain/job.ts';
import type { Actor } from '../../src/domain/command.ts';
import {
  claimed,
  claimNext,
  create,
  DIALECTS,
  eventKinds,
  failed,
  finished,
  HEAD,
  onEvery,
  type Opened,
  POSTGRES,
  read,
  refused,
  runTimers,
  settleAll,
  stateOf,
  worker,
} from '../support/engines.ts';

const ENDS: Record<'done' | 'failed' | 'dead' | 'cancelled', (spine: Opened, job: Job) => Promise<unknown>> =
  {
    done: (spine, job) => finished(spine, job),
    failed: (spine, job) => failed(spine, job, false),
    dead: (spine, job) => failed(spine, job, true),
    cancelled: (spine, job) => spine.engine.jobs.cancel(HEAD, job.id, null),
  };

const MEETS: Record<'success' | 'failure' | 'complete', readonly string[]> = {
  success: ['done'],
  failure: ['failed', 'dead', 'cancelled'],
  complete: ['done', 'failed', 'dead', 'cancelled'],
};

onEvery(DIALECTS, (each) => {
  each('takes a job that the caller may not see for one that is not there', async (spine) => {
    const { engine } = spine;
    const secret = await create(spine, { target: 'secret' });
    await finished(spine, secret);
    const holder = worker('w', ['any']);
    const own = await claimed(spine, await create(spine), holder);
    const other = await claimed(spine, await create(spine), holder);
    const run: Actor = {
      name: 'w',
      role: 'run',
      targets: ['any'],
      onlyJob: own.id,
      leaseToken: own.leaseToken ?? '',
    };
    const after = (by: Actor, id: string) =>
      engine.jobs.create(by, [{ target: 'any', parentId: own.id, after: [{ job: id }] }]);
    const answers = [secret.id, 'nobody'].map(async (id) => refused(after(holder, id)));
    for (const { code, details } of await Promise.all([...answers, refused(after(run, other.id))]))
      assert.deepEqual(
        [code, details],
        ['bad_request', { field: 'after[0]', problem: 'after[0] names no job' }],
      );
    // Its own work, and what that makes, it may wait for.
    const [first] = (await after(run, own.id)).jobs;
    assert.equal((await after(run, first?.id ?? '')).jobs[0]?.state, 'blocked');
    assert.equal((await after(holder, other.id)).jobs[0]?.state, 'blocked');
    assert.equal((await after(HEAD, secret.id)).jobs[0]?.state, 'queued');
    const below = await refused(engine.jobs.create(holder, [{ target: 'any', parentId: secret.id }]));
    assert.deepEqual(below.details, { field: 'parentId', problem: 'parentId names no job' });
  });

  each('runs a dependent after the end it asked for, and skips it after another', async (spine) => {
    for (const [end, go] of Object.entries(ENDS)) {
      const parent = await create(spine, { maxAttempts: end === 'dead' ? 1 : 5 });
      const kinds = ['success', 'failure', 'complete'] as const;
      const dependents: Job[] = [];
      for (const on of kinds) dependents.push(await create(spine, { after: [{ job: parent.id, on }] }));
      assert.deepEqual(
        dependents.map((job) => job.state),
        ['blocked', 'blocked', 'blocked'],
      );
      await go(spine, parent);
      assert.equal(await stateOf(spine, parent), end);
      await settleAll(spine);
      for (const [i, on] of kinds.entries()) {
        const expected: State = MEETS[on].includes(end) ? 'queued' : 'skipped';
        assert.equal(await stateOf(spine, dependents[i] as Job), expected, `${on} after ${end}`);
      }
    }
  });

  each('asks for success unless told otherwise', async (spine) => {
    const parent = await create(spine, { maxAttempts: 1 });
    const dependent = await create(spine, { after: [{ job: parent.id }] });
    await failed(spine, parent);
    await settleAll(spine);
    const skipped = await read(spine, dependent);
    assert.deepEqual(
      [skipped.state, skipped.reason, skipped.settled],
      ['skipped', 'a dependency ended otherwise', SETTLED],
    );
    assert.deepEqual(await eventKinds(spine, dependent), ['job.created', 'job.skipped']);
  });

  each('waits for all of several dependencies', async (spine) => {
    const parents = [await create(spine), await create(spine), await create(spine)];
    const job = await create(spine, { after: parents.map(({ id }) => ({ job: id })) });
    for (const [i, parent] of parents.entries()) {
      assert.equal((await read(spine, job)).waitingFor, 3 - i);
      await finished(spine, parent);
      await settleAll(spine);
    }
    assert.equal(await stateOf(spine, job), 'queued');
  });

  each('counts a dependency that is named twice once', async (spine) => {
    const parent = await create(spine);
    const job = await create(spine, { after: [{ job: parent.id }, { job: parent.id }] });
    assert.equal(job.waitingFor, 1);
    await finished(spine, parent);
    await settleAll(spine);
    assert.equal(await stateOf(spine, job), 'queued');
  });

  each('waits for its time as well when its dependencies are met', async (spine) => {
    const parent = await create(spine);
    const job = await create(spine, { after: [{ job: parent.id }], runAt: spine.engine.now() + 10_000 });
    await finished(spine, parent);
    await settleAll(spine);
    assert.equal(await stateOf(spine, job), 'scheduled');
    await spine.clock.advance(10_000);
    await runTimers(spine);
    assert.equal(await stateOf(spine, job), 'queued');
  });

  each('passes a skip down a chain, and turns it at those who wait for a failure', async (spine) => {
    const top = await create(spine, { maxAttempts: 1 });
    const middle = await create(spine, { after: [{ job: top.id }] });
    const low = await create(spine, { after: [{ job: middle.id }] });
    const rescue = await create(spine, { after: [{ job: low.id, on: 'failure' }] });
    await failed(spine, top);
    await settleAll(spine);
    assert.deepEqual(
      [await stateOf(spine, middle), await stateOf(spine, low), await stateOf(spine, rescue)],
      ['skipped', 'skipped', 'queued'],
    );
  });

  each('runs a chain one after another', async (spine) => {
    let last = await create(spine);
    const chain = [last];
    for (let i = 0; i < 4; i++) chain.push((last = await create(spine, { after: [{ job: last.id }] })));
    for (const link of chain) {
      const held = await claimNext(spine, { max: 9 });
      assert.deepEqual(
        held.map(({ job }) => job.id),
        [link.id],
      );
      await spine.engine.leases.complete(HEAD, link.id, held[0]?.job.leaseToken ?? null, null);
      await settleAll(spine);
    }
  });

  each('judges a dependency on a job that has ended already at once', async (spine) => {
    const good = await create(spine);
    await finished(spine, good);
    const bad = await create(spine);
    await failed(spine, bad, false);
    assert.equal((await create(spine, { after: [{ job: good.id }] })).state, 'queued');
    assert.equal((await create(spine, { after: [{ job: good.id, on: 'failure' }] })).state, 'skipped');
    const skipped = await create(spine, { after: [{ job: bad.id }] });
    assert.deepEqual([skipped.state, skipped.finishedAt !== null], ['skipped', true]);
    assert.equal((await create(spine, { after: [{ job: skipped.id, on: 'complete' }] })).state, 'queued');
  });

  each('refuses a dependency on nothing, and names the place', async (spine) => {
    const parent = await create(spine);
    const error = await refused(create(spine, { after: [{ job: parent.id }, { job: 'nobody' }] }));
    assert.deepEqual([error.code, error.details['field']], ['bad_request', 'after[1]']);
  });

  each('follows a lineage to its last member', async (spine) => {
    const root = await create(spine, { retry: { mode: 'lineage', max: 3 } });
    const early = await create(spine, { after: [{ job: root.id }] });
    await failed(spine, root);
    const between = await create(spine, { after: [{ job: root.id }] });
    await settleAll(spine);
    assert.equal(await stateOf(spine, early), 'blocked');
    const [retry] = await claimNext(spine, { max: 5 });
    assert.equal(retry?.job.retryOf, root.no);
    const late = await create(spine, { after: [{ job: root.id }] });
    const onRetry = await create(spine, { after: [{ job: retry?.job.id ?? '', on: 'complete' }] });
    assert.deepEqual([late.state, onRetry.state], ['blocked', 'blocked']);
    await spine.engine.leases.complete(HEAD, retry?.job.id ?? '', retry?.job.leaseToken ?? null, null);
    await settleAll(spine);
    for (const job of [early, between, late, onRetry]) assert.equal(await stateOf(spine, job), 'queued');
    assert.equal((await create(spine, { after: [{ job: root.id }] })).state, 'queued');
  });

  each('skips the dependents of a lineage only when all its retries are used up', async (spine) => {
    const root = await create(spine, { retry: { mode: 'lineage', max: 1 } });
    const job = await create(spine, { after: [{ job: root.id }] });
    await failed(spine, root);
    await settleAll(spine);
    assert.equal(await stateOf(spine, job), 'blocked');
    const [retry] = await claimNext(spine, { max: 5 });
    await spine.engine.leases.fail(HEAD, retry?.job.id ?? '', retry?.job.leaseToken ?? null, 'again', true);
    await settleAll(spine);
    assert.equal(await stateOf(spine, job), 'skipped');
  });

  each('reacts to an end once, however often it is asked to', async (spine) => {
    const parent = await create(spine);
    const job = await create(spine, { after: [{ job: parent.id }] });
    await finished(spine, parent);
    await Promise.all([settleAll(spine), settleAll(spine), settleAll(spine)]);
    assert.deepEqual(await eventKinds(spine, job), ['job.created', 'job.queued']);
  });

  each('says of a dependent that is let in for what it waits now', async (spine) => {
    const parent = await create(spine);
    const after = [{ job: parent.id }];
    const later = await create(spine, { after, runAt: spine.engine.now() + 60_000 });
    const needingApproval = await create(spine, { after, approval: { timeoutS: 60 } });
    await finished(spine, parent);
    await settleAll(spine);
    assert.deepEqual(await eventKinds(spine, later), ['job.created', 'job.scheduled']);
    assert.deepEqual(await eventKinds(spine, needingApproval), ['job.created', 'job.awaiting_approval']);
  });

  each('lets a cancelled dependent that is reopened wait for what it waited for', async (spine) => {
    const parents = [await create(spine), await create(spine)];
    const job = await create(spine, { after: parents.map(({ id }) => ({ job: id })) });
    await spine.engine.jobs.cancel(HEAD, job.id, null);
    await finished(spine, parents[0] as Job);
    await settleAll(spine);
    assert.equal((await spine.engine.jobs.retry(HEAD, job.id)).job.state, 'blocked');
    await finished(spine, parents[1] as Job);
    await settleAll(spine);
    assert.equal(await stateOf(spine, job), 'queued');
  });
});

onEvery([POSTGRES], (each) => {
  each(
    'does not let a dependent wait for ever for a lineage that ends while it is created',
    async (spine) => {
      const { store } = spine;
      const root = await create(spine, { retry: { mode: 'lineage', max: 1 } });
      await failed(spine, root);
      await settleAll(spine);
      const [held] = await claimNext(spine, { max: 5 });
      await spine.engine.leases.complete(HEAD, held?.job.id ?? '', held?.job.leaseToken ?? null, null);
      // Settling, step by step: it has looked for dependents, found none, and has not committed yet.
      let creating: Promise<Job> = Promise.resolve(root);
      await using other = (await spine.another?.()) as Opened;
      await other.store.transaction(0, async (tx) => {
        const [last] = (await tx.jobs.lockByNo([held?.job.no ?? 0])) as [Job];
        assert.deepEqual(await tx.dependencies.waiting(root.no), []);
        creating = create(spine, { after: [{ job: root.id }] });
        let made = false;
        creating.then(
          () => (made = true),
          () => (made = true),
        );
        await until(
          'the creation waits or has happened',
          async () => made || (await someoneWaits(spine.place)),
        );
        await tx.jobs.update([{ before: last, after: { ...last, settled: SETTLED }, kind: 'other' }]);
      });
      const job = await creating;
      await settleAll(spine);
      assert.equal(await stateOf(spine, job), 'queued');
      assert.equal(store.dialect, 'postgres');
    },
  );
});

async function someoneWaits(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  await client.end();
  return rows.length > 0;
}
