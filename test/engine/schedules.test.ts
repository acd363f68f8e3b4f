import assert from 'node:assert/strict';
import { LIMITS } from '../../src/domain/limits.ts';
import { DIALECTS, HEAD, onEvery, refusal, refused, SQLITE_MEMORY } from '../support/engines.ts';
import {
  doNext,
  failNext,
  pass,
  plan,
  pump,
  runNow,
  runsOf,
  schedule,
  startAt,
  statuses,
} from '../support/scheduling.ts';

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

onEvery(DIALECTS, (each) => {
  each(
    'an enabled schedule whose moment has come makes one run, and a disabled one none [SC-04 SC-02]',
    async (spine) => {
      const on = await plan(spine, { every: '1m' });
      const off = await plan(spine, { every: '1m', enabled: false });
      assert.equal(off.nextRunAt, null);
      await pass(spine, 59_999);
      assert.deepEqual(await statuses(spine, on), []);
      await pass(spine, 1);
      assert.deepEqual(await statuses(spine, on), ['pending']);
      assert.deepEqual(await statuses(spine, off), []);
      const after = await schedule(spine, on);
      assert.equal(after.nextRunAt, (on.nextRunAt ?? 0) + 60_000);
      assert.equal(after.lastRunAt, on.nextRunAt);
    },
  );

  each(
    'a run by hand leaves the schedule’s own clock alone, and works on a disabled one [SC-49]',
    async (spine) => {
      const made = await plan(spine, { every: '1h' });
      const before = (await schedule(spine, made)).nextRunAt;
      await runNow(spine, made);
      await doNext(spine);
      assert.equal((await schedule(spine, made)).nextRunAt, before);
      await spine.engine.schedules.enable(HEAD, made.id, false);
      await runNow(spine, made);
      assert.deepEqual(await statuses(spine, made), ['ok', 'pending']);
    },
  );

  each(
    'a schedule may be put off, or brought forward, once: then its rule goes on as it was [SC-78]',
    async (spine) => {
      const { engine } = spine;
      const { createdAt: now } = await plan(spine);
      const late = await plan(spine, { every: '1m', next_run_at: now + 150_000 });
      assert.equal(late.nextRunAt, now + 150_000);
      const soon = await plan(spine, { every: '1h' });
      const changed = await engine.schedules.update(HEAD, soon.id, { next_run_at: now + 90_000 });
      assert.equal(changed.nextRunAt, now + 90_000);
      await pass(spine, 120_000);
      assert.deepEqual([await statuses(spine, late), await statuses(spine, soon)], [[], ['pending']]);
      await pass(spine, 30_000);
      assert.deepEqual(await statuses(spine, late), ['pending']);
      assert.equal((await schedule(spine, late)).nextRunAt, late.createdAt + 180_000);
      assert.equal((await schedule(spine, soon)).nextRunAt, soon.createdAt + 3_600_000);
      const off = {
        name: 'off',
        every: '1m',
        session_target: 'queue',
        enabled: false,
        next_run_at: now + 300_000,
      };
      const said = async (call: Promise<unknown>) => String((await refused(call)).details['problem']);
      assert.match(await said(engine.schedules.create(HEAD, off)), /switched off; enable it too/);
      assert.match(await said(engine.schedules.put(HEAD, { ...off, enabled: true })), /send it with PATCH/);
    },
  );

  each(
    'a tick that has fired does not fire again, even if the clock of its schedule is put back',
    async (spine) => {
      const { engine, store } = spine;
      const made = await plan(spine, { every: '1m' });
      await pass(spine, 60_000);
      await doNext(spine);
      const fired = await schedule(spine, made);
      await store.transaction(0, async (tx) => tx.schedules.save([{ ...fired, nextRunAt: made.nextRunAt }]));
      await pump(spine);
      assert.deepEqual(await statuses(spine, made), ['ok']);
      assert.equal((await schedule(spine, made)).nextRunAt, engine.now() + 60_000);
    },
  );

  each('enabling again counts from now; disabling forgets the next moment', async (spine) => {
    const made = await plan(spine, { every: '1h' });
    assert.equal((await spine.engine.schedules.enable(HEAD, made.id, false)).nextRunAt, null);
    await pass(spine, 90 * 60_000);
    const on = await spine.engine.schedules.enable(HEAD, made.id, true);
    assert.equal(on.nextRunAt, made.createdAt + 2 * 3_600_000);
    assert.deepEqual(await statuses(spine, made), []);
  });

  each('a change of the rule moves the next run; a change of anything else does not', async (spine) => {
    const made = await plan(spine, { every: '1h' });
    await pass(spine, 10 * 60_000);
    const renamed = await spine.engine.schedules.update(HEAD, made.id, { name: 'other' });
    assert.equal(renamed.nextRunAt, made.nextRunAt);
    const sooner = await spine.engine.schedules.update(HEAD, made.id, { every: '15m' });
    assert.equal(sooner.nextRunAt, made.createdAt + 15 * 60_000);
    assert.equal(sooner.spec.name, 'other');
  });

  each('a run of a queue carries the params and the budget of its schedule', async (spine) => {
    const budget = { tokens: 20_000 };
    const made = await plan(spine, { params: { n: 1 }, budget });
    const { no } = await runNow(spine, made);
    const [job] = await spine.store.read.jobs.byNo([no]);
    const details = await spine.store.read.details.of([job ?? assert.fail('no run')]);
    const { params, budget: carried, meta } = details.get(no)?.input ?? assert.fail('no input');
    assert.deepEqual([params, carried], ['{"n":1}', '{"tokens":20000}']);
    assert.doesNotMatch(meta ?? '', /20000/, 'it is not kept twice');
  });

  each('a dry run of a change says how it would be or why not, and leaves no trace', async (spine) => {
    const made = await plan(spine, { every: '1h' });
    const tried = await spine.engine.schedules.update(HEAD, made.id, { every: '15m' }, true);
    assert.equal(tried.nextRunAt, made.createdAt + 15 * 60_000);
    const circle = { parent_id: made.id, trigger_on: 'success', every: null };
    assert.equal(await refusal(spine.engine.schedules.update(HEAD, made.id, circle, true)), 'bad_request');
    assert.deepEqual(await schedule(spine, made), made);
    const acts = (await spine.engine.audit.list(null, 10)).map(({ action }) => action);
    assert.deepEqual(acts, ['schedule.create']);
  });

  each('a one-shot by the clock runs once, and is switched off', async (spine) => {
    const made = await plan(spine, { in: '2s' });
    await pass(spine, 2_000);
    await doNext(spine);
    await pass(spine, 60_000);
    assert.deepEqual(await statuses(spine, made), ['ok']);
    const { enabled, nextRunAt } = await schedule(spine, made);
    assert.deepEqual({ enabled, nextRunAt }, { enabled: false, nextRunAt: null });
  });

  each(
    'delete_after_run keeps the schedule after an error and removes it after a success; its history stays [SC-26]',
    async (spine) => {
      const made = await plan(spine, { schedule: '* * * * *', delete_after_run: true });
      await pass(spine, 60_000);
      await failNext(spine);
      assert.equal((await schedule(spine, made)).lastStatus, 'error');
      await pass(spine, 90_000);
      await doNext(spine, 'at last');
      const gone = await refused(spine.engine.schedules.get(HEAD, made.id));
      assert.equal(gone.code, 'not_found');
      assert.deepEqual(await statuses(spine, made), ['error', 'ok']);
    },
  );

  each(
    'failures hold a schedule back: 30 s, 1, 5, 15, 60 minutes, then 60; a success forgets them [SC-25 SC-78]',
    async (spine) => {
      const made = await plan(spine, { every: '10s', overlap_policy: 'skip' });
      const ladder = [30, 60, 300, 900, 3_600, 3_600].map((seconds) => seconds * 1_000);
      for (const [i, heldMs] of ladder.entries()) {
        await runNow(spine, made);
        await failNext(spine);
        const { nextRunAt, consecutiveErrors, lastStatus } = await schedule(spine, made);
        assert.equal(consecutiveErrors, i + 1);
        assert.equal(lastStatus, 'error');
        assert.equal(nextRunAt, spine.engine.now() + heldMs);
      }
      const missed = await spine.engine.schedules.missed(made.id, 10);
      assert.ok(missed.length > 0, 'what a hold passed over is written down');
      assert.ok(missed.every(({ reason }) => reason?.startsWith('held back after')));
      await runNow(spine, made);
      await doNext(spine);
      assert.equal((await schedule(spine, made)).consecutiveErrors, 0);
    },
  );

  each('a next run that is further away than the hold stays where it is [SC-25]', async (spine) => {
    const made = await plan(spine, { every: '1d' });
    await runNow(spine, made);
    await failNext(spine);
    assert.equal((await schedule(spine, made)).nextRunAt, made.nextRunAt);
  });

  each(
    'a schedule that names a pool waits for its slot, and runs as soon as the holder ends [SC-05 SC-47]',
    async (spine) => {
      const a = await plan(spine, { name: 'a', resource_pool: 'gpu' });
      const b = await plan(spine, { name: 'b', resource_pool: 'gpu', schedule: '0 0 1 1 *' });
      await runNow(spine, a);
      const [held] = await spine.engine.leases.claimNext(
        { name: 'w', role: 'worker', targets: null },
        { targets: ['any'], max: 1, waitMs: 0 },
      );
      await runNow(spine, b);
      assert.equal(await doNext(spine), null);
      assert.ok(held);
      await spine.engine.leases.complete(HEAD, held.job.id, held.job.leaseToken, 'ok');
      assert.equal((await doNext(spine))?.scheduleId, b.id);
      assert.deepEqual(await statuses(spine, b), ['ok']);
    },
  );

  each(
    'a schedule that nothing can be told of is not found; a beginning that fits two is refused',
    async (spine) => {
      const made = await plan(spine);
      assert.equal((await spine.engine.schedules.get(HEAD, made.id.slice(0, 30))).id, made.id);
      const run = await runNow(spine, made);
      const stranger = { ...HEAD, role: 'worker', targets: ['elsewhere'] } as const;
      for (const seen of [
        spine.engine.schedules.get(stranger, made.id),
        spine.engine.runs.get(stranger, run.id),
      ])
        assert.equal((await refused(seen)).code, 'forbidden');
      await plan(spine);
      assert.equal((await refused(spine.engine.schedules.get(HEAD, made.id.slice(0, 4)))).code, 'conflict');
      for (const which of ['nope', '%', 'ffffffff'])
        assert.equal((await refused(spine.engine.schedules.get(HEAD, which))).code, 'not_found');
    },
  );
});

onEvery([SQLITE_MEMORY], (each) => {
  const downtime = async (
    policy: Record<string, unknown>,
    spine: Parameters<Parameters<typeof each>[1]>[0],
  ) => {
    await startAt(spine, '2026-05-04T09:05:00Z');
    const made = await plan(spine, { schedule: '*/10 * * * *', ...policy });
    await spine.clock.advance(3 * 3_600_000);
    await pump(spine);
    const ran = [];
    for (let job = await doNext(spine); job !== null; job = await doNext(spine)) ran.push(job);
    const missed = await spine.engine.schedules.missed(made.id, 10);
    return { made, ran: ran.length, missed: missed.reduce((sum, { n }) => sum + n, 0) };
  };

  each('after three hours away, skip makes up for nothing and writes down all 18 ticks', async (spine) => {
    const { ran, missed } = await downtime({ catch_up: 'skip' }, spine);
    assert.deepEqual({ ran, missed }, { ran: 0, missed: 18 });
  });

  each('after three hours away, once runs once for the newest tick and writes down 17', async (spine) => {
    const { made, ran, missed } = await downtime({}, spine);
    assert.deepEqual({ ran, missed }, { ran: 1, missed: 17 });
    const [run] = await runsOf(spine, made);
    assert.equal(iso(run?.run.dueAt ?? null), '2026-05-04T12:00:00.000Z');
    assert.equal(run?.run.kind, 'catch_up');
  });

  each(
    'after three hours away, all runs its newest N one after another, and writes down the rest',
    async (spine) => {
      const { made, ran, missed } = await downtime({ catch_up: 'all', catch_up_max: 5 }, spine);
      assert.deepEqual({ ran, missed }, { ran: 5, missed: 13 });
      assert.deepEqual(
        (await runsOf(spine, made)).map(({ run }) => iso(run.dueAt)?.slice(11, 16)),
        ['11:20', '11:30', '11:40', '11:50', '12:00'],
      );
    },
  );

  each('what was missed longer ago than the window is not made up for', async (spine) => {
    await startAt(spine, '2026-05-04T09:05:00Z');
    const made = await plan(spine, { schedule: '0 0 * * *', catch_up_window_s: 3_600 });
    await spine.clock.advance(3 * 86_400_000);
    await pump(spine);
    assert.deepEqual(await statuses(spine, made), []);
    assert.equal((await spine.engine.schedules.missed(made.id, 10))[0]?.n, 3);
  });

  each(
    'a year of downtime of a schedule that ticks every minute is written down in bounded passes',
    async (spine) => {
      await startAt(spine, '2026-05-04T09:05:00Z');
      const made = await plan(spine, { schedule: '* * * * *' });
      await spine.clock.advance(30 * 86_400_000);
      await pump(spine);
      assert.deepEqual(await statuses(spine, made), ['pending']);
      const missed = await spine.engine.schedules.missed(made.id, 1_000);
      assert.equal(
        missed.reduce((sum, { n }) => sum + n, 0),
        30 * 1_440 - 1,
      );
      assert.ok(missed.length <= Math.ceil((30 * 1_440) / LIMITS.ticksPerPass) + 1);
    },
  );

  each('fires by the wall clock of its zone through both changes of the hour [SC-20]', async (spine) => {
    await startAt(spine, '2026-11-01T04:30:00Z');
    const hourly = await plan(spine, {
      name: 'hourly',
      schedule: '0 * * * *',
      timezone: 'America/New_York',
      overlap_policy: 'allow',
    });
    const once = await plan(spine, { name: 'once', schedule: '30 1 * * *', timezone: 'America/New_York' });
    await pass(spine, 3 * 3_600_000, 60_000);
    const due = async (of: typeof hourly) =>
      (await runsOf(spine, of)).map(({ run }) => iso(run.dueAt)?.slice(11, 16));
    assert.deepEqual(await due(hourly), ['05:00', '06:00', '07:00']);
    assert.deepEqual(await due(once), ['05:30']);
  });

  each('a time that does not exist in spring fires once, at the next instant', async (spine) => {
    await startAt(spine, '2026-03-08T00:00:00Z');
    const made = await plan(spine, { schedule: '30 2 * * *', timezone: 'America/New_York' });
    await pass(spine, 20 * 3_600_000, 60_000);
    assert.deepEqual(
      (await runsOf(spine, made)).map(({ run }) => iso(run.dueAt)?.slice(11, 16)),
      ['07:00'],
    );
  });
});
