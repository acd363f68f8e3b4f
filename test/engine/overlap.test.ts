import assert from 'node:assert/strict';
import { DIALECTS, HEAD, onEvery, SQLITE_FILE, worker } from '../support/engines.ts';
import { doNext, failNext, pass, plan, pump, runNow, runsOf, statuses, take } from '../support/scheduling.ts';

onEvery(DIALECTS, (each) => {
  each(
    'skip: while a run is under way the next ones are rows that say why they were skipped [SC-23]',
    async (spine) => {
      const made = await plan(spine);
      await runNow(spine, made);
      await take(spine);
      await runNow(spine, made);
      await runNow(spine, made);
      assert.deepEqual(await statuses(spine, made), ['running', 'skipped', 'skipped']);
      const [, skipped] = await runsOf(spine, made);
      assert.equal(skipped?.job.reason, 'the run before it was still under way');
      assert.ok((skipped?.job.finishedAt ?? 0) > 0);
    },
  );

  each(
    'skip: a run that has just ended stands in nobody’s way, also before anybody reacted to its end',
    async (spine) => {
      const made = await plan(spine);
      await spine.engine.schedules.run(HEAD, made.id);
      const held = await take(spine);
      assert.ok(held);
      await spine.engine.leases.complete(worker('w'), held.job.id, held.job.leaseToken, 'ok');
      await spine.engine.schedules.run(HEAD, made.id);
      assert.deepEqual(await statuses(spine, made), ['ok', 'pending']);
    },
  );

  each('skip: a run that only waits for its retry still counts as under way', async (spine) => {
    const made = await plan(spine, { max_retries: 1 });
    await runNow(spine, made);
    await failNext(spine);
    await runNow(spine, made);
    assert.deepEqual(await statuses(spine, made), ['error', 'pending', 'skipped']);
    await pass(spine, 30_000);
    await doNext(spine);
    await runNow(spine, made);
    assert.deepEqual(await statuses(spine, made), ['error', 'ok', 'skipped', 'pending']);
  });

  each('allow: as many runs at once as are asked for [SC-23]', async (spine) => {
    const made = await plan(spine, { overlap_policy: 'allow' });
    for (let i = 0; i < 3; i++) await runNow(spine, made);
    for (let i = 0; i < 3; i++) assert.ok(await take(spine));
    assert.deepEqual(await statuses(spine, made), ['running', 'running', 'running']);
  });

  each('queue: runs wait in line, go one at a time, and none is lost [SC-23 SC-24]', async (spine) => {
    const made = await plan(spine, { overlap_policy: 'queue' });
    for (let i = 0; i < 4; i++) await runNow(spine, made);
    const waiting = async () => (await spine.engine.schedules.waiting([made])).get(made.id) ?? 0;
    const peak = await waiting();
    const order = [];
    for (let job = await doNext(spine); job !== null; job = await doNext(spine)) {
      order.push([job.no, await waiting()]);
      assert.equal((await statuses(spine, made)).filter((status) => status === 'running').length, 0);
    }
    assert.equal(peak, 3);
    const first = order[0]?.[0] ?? 0;
    assert.deepEqual(order, [
      [first, 2],
      [first + 1, 1],
      [first + 2, 0],
      [first + 3, 0],
    ]);
    assert.deepEqual(await statuses(spine, made), ['ok', 'ok', 'ok', 'ok']);
  });

  each('queue: failures lose nothing of the line [SC-24]', async (spine) => {
    const made = await plan(spine, { overlap_policy: 'queue' });
    for (let i = 0; i < 4; i++) await runNow(spine, made);
    for (let i = 0; i < 4; i++) assert.ok(await failNext(spine), `run ${i + 1} of 4`);
    assert.deepEqual(await statuses(spine, made), ['error', 'error', 'error', 'error']);
  });

  each('queue: a line that is full skips, with its reason', async (spine) => {
    const made = await plan(spine, { overlap_policy: 'queue', max_queued_dispatches: 2 });
    for (let i = 0; i < 4; i++) await runNow(spine, made);
    const last = (await runsOf(spine, made)).at(-1);
    assert.equal(last?.job.state, 'skipped');
    assert.equal(last?.job.reason, '2 runs wait in line already');
  });

  each(
    'queue: a child whose parent fires three times while it runs, runs three times [SC-24]',
    async (spine) => {
      const parent = await plan(spine, { name: 'parent', target: 'parents' });
      const child = await plan(spine, { name: 'child', parent_id: parent.id, overlap_policy: 'queue' });
      for (let i = 0; i < 3; i++) {
        await runNow(spine, parent);
        const claimed = await take(spine, ['parents']);
        assert.ok(claimed);
        await spine.engine.leases.complete(
          worker('w'),
          claimed.job.id,
          claimed.job.leaseToken,
          `result ${i}`,
        );
        await pump(spine);
      }
      assert.deepEqual(await statuses(spine, child), ['pending', 'pending', 'pending']);
      for (let i = 0; i < 3; i++) assert.ok(await doNext(spine));
      assert.equal(await doNext(spine), null);
      assert.deepEqual(await statuses(spine, child), ['ok', 'ok', 'ok']);
    },
  );

  each('queue: a run that is cancelled in line gives its place up, and the line goes on', async (spine) => {
    const made = await plan(spine, { overlap_policy: 'queue' });
    for (let i = 0; i < 3; i++) await runNow(spine, made);
    const second = (await runsOf(spine, made))[1];
    await spine.engine.jobs.cancel(HEAD, second?.job.id ?? '', 'not needed');
    await pump(spine);
    assert.ok(await doNext(spine));
    assert.ok(await doNext(spine));
    assert.deepEqual(await statuses(spine, made), ['ok', 'cancelled', 'ok']);
  });
});

onEvery([SQLITE_FILE], (each) => {
  each(
    'queue: what waited in line is still there after a restart, and runs once each [SC-24]',
    async (spine) => {
      const made = await plan(spine, { overlap_policy: 'queue' });
      for (let i = 0; i < 3; i++) await spine.engine.schedules.run(HEAD, made.id);
      const again = await spine.reopen?.();
      assert.ok(again);
      await using next = again;
      await pump(next);
      for (let i = 0; i < 3; i++) assert.ok(await doNext(next), `run ${i + 1} of 3`);
      assert.deepEqual(await statuses(next, made), ['ok', 'ok', 'ok']);
    },
  );
});
