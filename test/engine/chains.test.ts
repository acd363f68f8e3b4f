import assert from 'node:assert/strict';
import type { RunPlan } from '../../src/domain/schedule.ts';
import { DIALECTS, HEAD, onEvery, refused, worker } from '../support/engines.ts';
import {
  doNext,
  failNext,
  pass,
  plan,
  pump,
  runNow,
  runsOf,
  schedule,
  statuses,
  take,
} from '../support/scheduling.ts';

onEvery(DIALECTS, (each) => {
  each(
    'a child fires once when its parent succeeds, is told what came out, and names the run [SC-13 SC-35 SC-79]',
    async (spine) => {
      const parent = await plan(spine, { name: 'build', target: 'any' });
      const child = await plan(spine, { name: 'report', parent_id: parent.id });
      const run = await runNow(spine, parent);
      await doNext(spine, { text: 'all 12 tests passed' });
      const [fired, ...more] = await runsOf(spine, child);
      assert.deepEqual(more, []);
      assert.equal(fired?.triggeredById, run.id);
      const { input } = (await spine.engine.jobs.details([fired?.job ?? run])).get(fired?.job.no ?? 0) ?? {};
      const { trigger } = JSON.parse(input?.meta ?? '{}') as RunPlan;
      assert.equal(trigger?.output, 'all 12 tests passed');
      assert.equal(trigger?.scheduleName, 'build');
      assert.equal(trigger?.status, 'ok');
    },
  );

  each('success, failure and complete each fire on their own ends only [SC-35]', async (spine) => {
    const parent = await plan(spine, { name: 'parent' });
    const kinds = ['success', 'failure', 'complete'] as const;
    const children = await Promise.all(
      kinds.map((on) => plan(spine, { name: on, parent_id: parent.id, trigger_on: on, target: 'children' })),
    );
    const fired = async () => Promise.all(children.map(async (child) => (await runsOf(spine, child)).length));
    await runNow(spine, parent);
    await doNext(spine);
    assert.deepEqual(await fired(), [1, 0, 1]);
    await runNow(spine, parent);
    await failNext(spine);
    assert.deepEqual(await fired(), [1, 1, 2]);
  });

  each('a delayed child starts only after its delay [SC-36]', async (spine) => {
    const parent = await plan(spine, { name: 'parent' });
    await plan(spine, { name: 'later', parent_id: parent.id, trigger_delay_s: 20 });
    await runNow(spine, parent);
    await doNext(spine);
    await pass(spine, 19_999);
    assert.equal(await take(spine), null);
    await pass(spine, 1);
    assert.ok(await take(spine));
  });

  each('a condition looks at the raw output of the parent [SC-37]', async (spine) => {
    const parent = await plan(spine, { name: 'parent' });
    const make = (name: string, trigger_condition: string) =>
      plan(spine, {
        name,
        parent_id: parent.id,
        trigger_condition,
        target: 'children',
        trigger_on: 'complete',
      });
    const alert = await make('alert', 'contains:ALERT');
    const ok = await make('ok', 'regex:^OK');
    await runNow(spine, parent);
    await doNext(spine, { exitCode: 0, stdout: 'OK\nalert\n', stderr: '' });
    assert.deepEqual([(await runsOf(spine, alert)).length, (await runsOf(spine, ok)).length], [0, 1]);
    await runNow(spine, parent);
    await failNext(spine, { message: 'ALERT: disk' });
    assert.equal((await runsOf(spine, alert)).length, 1);
  });

  each(
    'a greedy pattern on a hostile output is answered at once, and nobody waits for it [SC-37]',
    async (spine) => {
      const parent = await plan(spine, { name: 'parent' });
      const child = await plan(spine, {
        name: 'child',
        parent_id: parent.id,
        trigger_condition: 'regex:(a+)+$',
      });
      await runNow(spine, parent);
      const startedAt = performance.now();
      await doNext(spine, `${'a'.repeat(40)}b`);
      assert.ok(performance.now() - startedAt < 10_000);
      assert.deepEqual(await statuses(spine, child), []);
      const bad = await refused(plan(spine, { parent_id: parent.id, trigger_condition: 'regex:(' }));
      assert.match(String(bad.details['problem']), /trigger_condition/);
    },
  );

  each(
    'retries wait 30 s, then 60; the failure child fires once, after the last [SC-42 SC-43 SC-44 SC-45]',
    async (spine) => {
      const parent = await plan(spine, { name: 'flaky', max_retries: 2 });
      const child = await plan(spine, {
        name: 'alarm',
        parent_id: parent.id,
        trigger_on: 'failure',
        target: 'alarms',
      });
      const startedAt = spine.engine.now();
      await runNow(spine, parent);
      await failNext(spine);
      await pass(spine, 29_999);
      assert.equal(await take(spine), null);
      await pass(spine, 1);
      await failNext(spine, 'again');
      assert.deepEqual(await statuses(spine, child), []);
      await pass(spine, 60_000);
      await failNext(spine, 'and again');
      const runs = await runsOf(spine, parent);
      assert.deepEqual(
        runs.map(({ job, earlierId }) => [job.retryCount, earlierId, (job.finishedAt ?? 0) - startedAt]),
        [
          [0, null, 0],
          [1, runs[0]?.job.id, 30_000],
          [2, runs[1]?.job.id, 90_000],
        ],
      );
      const [alarm, ...others] = await runsOf(spine, child);
      assert.deepEqual(others, []);
      assert.equal(alarm?.triggeredById, runs[2]?.job.id);
      assert.equal((await schedule(spine, parent)).consecutiveErrors, 1);
    },
  );

  each('a retry that succeeds fires the success child only [SC-45]', async (spine) => {
    const parent = await plan(spine, { name: 'flaky', max_retries: 2 });
    const good = await plan(spine, { name: 'good', parent_id: parent.id, target: 'x' });
    const bad = await plan(spine, {
      name: 'bad',
      parent_id: parent.id,
      trigger_on: 'failure',
      target: 'x',
    });
    await runNow(spine, parent);
    await failNext(spine);
    await pass(spine, 30_000);
    await doNext(spine);
    assert.deepEqual([(await runsOf(spine, good)).length, (await runsOf(spine, bad)).length], [1, 0]);
  });

  each('a timeout is a timeout, and is retried like any failure [SC-42]', async (spine) => {
    const parent = await plan(spine, { name: 'slow', max_retries: 1, run_timeout_ms: 5_000 });
    const child = await plan(spine, {
      name: 'alarm',
      parent_id: parent.id,
      trigger_on: 'failure',
      target: 'x',
    });
    await runNow(spine, parent);
    await take(spine);
    await pass(spine, 5_000);
    assert.deepEqual(await statuses(spine, parent), ['timeout', 'pending']);
    await pass(spine, 30_000);
    await failNext(spine, 'silent', 'stale');
    assert.deepEqual(await statuses(spine, parent), ['timeout', 'timeout']);
    assert.equal((await runsOf(spine, child)).length, 1);
  });

  each(
    'a chain may have ten levels below its root and no eleventh; moves are judged with their whole subtree [SC-38]',
    async (spine) => {
      const chain = [await plan(spine, { name: 'level 0' })];
      for (let level = 1; level <= 10; level++)
        chain.push(await plan(spine, { name: `level ${level}`, parent_id: chain.at(-1)?.id }));
      const eleventh = await refused(plan(spine, { name: 'level 11', parent_id: chain.at(-1)?.id }));
      assert.equal(eleventh.details['field'], 'parent_id');
      const other = [await plan(spine, { name: 'other 0' })];
      for (let level = 1; level <= 5; level++)
        other.push(await plan(spine, { name: `other ${level}`, parent_id: other.at(-1)?.id }));
      const move = { parent_id: chain[8]?.id, trigger_on: 'success' };
      assert.equal(
        (await refused(spine.engine.schedules.update(HEAD, other[0]?.id ?? '', move))).code,
        'bad_request',
      );
      const circle = { parent_id: chain.at(-1)?.id, trigger_on: 'success' };
      assert.equal(
        (await refused(spine.engine.schedules.update(HEAD, chain[0]?.id ?? '', circle))).code,
        'bad_request',
      );
      const self = { parent_id: chain[3]?.id, trigger_on: 'success' };
      assert.equal(
        (await refused(spine.engine.schedules.update(HEAD, chain[3]?.id ?? '', self))).code,
        'bad_request',
      );
      const edges = await spine.engine.schedules.edges();
      assert.deepEqual(
        edges.map(({ name, parentId }) => [name, edges.find(({ id }) => id === parentId)?.name ?? null]),
        [...chain, ...other].map(({ spec }) => {
          const [word, level] = spec.name.split(' ');
          return [spec.name, level === '0' ? null : `${word} ${Number(level) - 1}`];
        }),
      );
    },
  );

  each('a circle is refused at creation and at every change [SC-39]', async (spine) => {
    const a = await plan(spine, { name: 'a' });
    const b = await plan(spine, { name: 'b', parent_id: a.id });
    const c = await plan(spine, { name: 'c', parent_id: b.id });
    const move = { parent_id: c.id, trigger_on: 'success' };
    const refusal = await refused(spine.engine.schedules.update(HEAD, a.id, move));
    assert.equal(refusal.details['field'], 'parent_id');
    assert.equal((await schedule(spine, a)).spec.parentId, null);
  });

  each(
    'cancelling a parent stops what runs below it, ends what waits, and nothing fires after it [SC-40]',
    async (spine) => {
      const parent = await plan(spine, { name: 'parent' });
      const child = await plan(spine, {
        name: 'child',
        parent_id: parent.id,
        target: 'x',
        overlap_policy: 'allow',
      });
      const grandchild = await plan(spine, {
        name: 'grandchild',
        parent_id: child.id,
        target: 'y',
        trigger_on: 'complete',
      });
      for (let i = 0; i < 2; i++) {
        await runNow(spine, parent);
        await doNext(spine);
      }
      const running = await take(spine, ['x']);
      assert.ok(running);
      const { schedules, runs } = await spine.engine.schedules.cancel(HEAD, parent.id, true);
      assert.deepEqual(schedules.toSorted(), [parent.id, child.id, grandchild.id].toSorted());
      assert.equal(runs.length, 2);
      for (const each of [parent, child, grandchild])
        assert.equal((await schedule(spine, each)).enabled, false);
      const beat = await spine.engine.leases.heartbeat(
        worker('w'),
        running.job.id,
        running.job.leaseToken,
        null,
      );
      assert.equal(beat.job.cancelRequested, true);
      await spine.engine.leases.release(worker('w'), running.job.id, running.job.leaseToken, 'stopped');
      await pump(spine);
      assert.deepEqual(await statuses(spine, child), ['cancelled', 'cancelled']);
      assert.deepEqual(await statuses(spine, grandchild), []);
    },
  );

  each('a run that somebody cancels starts nothing, whatever its children wait for', async (spine) => {
    const parent = await plan(spine, { name: 'parent' });
    const children = await Promise.all(
      (['failure', 'complete'] as const).map((on) =>
        plan(spine, { name: on, parent_id: parent.id, trigger_on: on, target: 'x' }),
      ),
    );
    const waiting = await runNow(spine, parent);
    await spine.engine.jobs.cancel(HEAD, waiting.id, 'not needed');
    await pump(spine);
    const running = await runNow(spine, parent);
    const held = await take(spine);
    await spine.engine.jobs.cancel(HEAD, running.id, 'not needed');
    await spine.engine.leases.fail(worker('w'), running.id, held?.job.leaseToken ?? '', 'stopped', true);
    await pump(spine);
    assert.deepEqual(await statuses(spine, parent), ['cancelled', 'cancelled']);
    for (const child of children) assert.deepEqual(await statuses(spine, child), []);
  });

  each('deleting a parent takes its children along at once, and they never fire [SC-41]', async (spine) => {
    const parent = await plan(spine, { name: 'parent' });
    const child = await plan(spine, { name: 'child', parent_id: parent.id });
    await runNow(spine, parent);
    const held = await take(spine);
    await spine.engine.schedules.remove(HEAD, parent.id);
    assert.equal((await refused(spine.engine.schedules.get(HEAD, child.id))).code, 'not_found');
    assert.ok(held);
    await spine.engine.leases.complete(worker('w'), held.job.id, held.job.leaseToken, 'late');
    await pump(spine);
    assert.deepEqual(await statuses(spine, child), []);
    assert.equal(await take(spine), null);
  });

  each(
    'a run that is opened again counts as under way, and its children fire once all the same',
    async (spine) => {
      const parent = await plan(spine, { name: 'parent' });
      const child = await plan(spine, {
        name: 'child',
        parent_id: parent.id,
        target: 'x',
        trigger_on: 'complete',
      });
      const run = await runNow(spine, parent);
      await failNext(spine);
      await spine.engine.jobs.retry(HEAD, run.id);
      await runNow(spine, parent);
      assert.deepEqual(await statuses(spine, parent), ['pending', 'skipped']);
      await doNext(spine);
      assert.deepEqual(await statuses(spine, parent), ['ok', 'skipped']);
      assert.equal((await runsOf(spine, child)).length, 1);
      assert.deepEqual(await spine.store.read.jobs.unsettled(10), []);
    },
  );

  each('a chain of a schedule that deletes itself runs to its end before it goes', async (spine) => {
    const parent = await plan(spine, { name: 'parent', delete_after_run: true });
    const child = await plan(spine, { name: 'child', parent_id: parent.id });
    const grandchild = await plan(spine, { name: 'grandchild', parent_id: child.id });
    await runNow(spine, parent);
    for (let i = 0; i < 3; i++) assert.ok(await doNext(spine), `link ${i + 1}`);
    assert.deepEqual(await statuses(spine, grandchild), ['ok']);
    assert.deepEqual(await spine.engine.schedules.list({ afterNo: 0, limit: 10 }), []);
  });
});
