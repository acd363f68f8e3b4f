import assert from 'node:assert/strict';
import { DIALECTS, HEAD, onEvery, type Opened, SYSTEM } from '../support/engines.ts';
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
  take,
} from '../support/scheduling.ts';

/** Somebody claims the next run and is never heard from again. */
async function loseNext(spine: Opened): Promise<string> {
  const held = await take(spine);
  assert.ok(held);
  await spine.clock.advance(held.job.leaseMs);
  await spine.engine.core.perform({ kind: 'expire', id: held.job.id, actor: SYSTEM });
  await pump(spine);
  return held.job.id;
}

onEvery(DIALECTS, (each) => {
  each('a success ends the hold: the next run is the next tick again [SC-25 SC-78]', async (spine) => {
    await startAt(spine, '2026-05-04T09:00:05Z');
    const made = await plan(spine, { schedule: '* * * * *' });
    for (let i = 0; i < 5; i++) {
      await runNow(spine, made);
      await failNext(spine);
    }
    assert.equal((await schedule(spine, made)).nextRunAt, spine.engine.now() + 3_600_000);
    await pass(spine, 10 * 60_000);
    await runNow(spine, made);
    await doNext(spine);
    const { nextRunAt, consecutiveErrors } = await schedule(spine, made);
    assert.deepEqual(
      [new Date(nextRunAt ?? 0).toISOString(), consecutiveErrors],
      ['2026-05-04T09:11:00.000Z', 0],
    );
    const missed = await spine.engine.schedules.missed(made.id, 100);
    assert.deepEqual(
      missed.map(({ at, untilAt, n }) => [
        ...[at, untilAt].map((ms) => new Date(ms).toISOString().slice(11, 16)),
        n,
      ]),
      [
        ['09:06', '09:10', 5],
        ['09:02', '09:05', 4],
        ['09:01', '09:01', 1],
      ],
    );
    await pass(spine, 60_000);
    assert.equal((await statuses(spine, made)).at(-1), 'pending');
  });

  each(
    'every tick that a hold leaves out is written down, once, until the hold ends [SC-25]',
    async (spine) => {
      const made = await plan(spine, { every: '10s' });
      const held = async () =>
        (await spine.engine.schedules.missed(made.id, 10)).map(({ at, untilAt, n }) => [
          at - made.createdAt,
          untilAt - made.createdAt,
          n,
        ]);
      await runNow(spine, made);
      await failNext(spine);
      const next = (await schedule(spine, made)).nextRunAt ?? 0;
      const left = Math.ceil((next - made.createdAt) / 10_000) - 1;
      assert.deepEqual([left, await held()], [2, [[10_000, 20_000, 2]]]);
      await pass(spine, 30_000);
      assert.deepEqual(await statuses(spine, made), ['error', 'pending']);
      assert.deepEqual(await held(), [[10_000, 20_000, 2]]);
    },
  );

  each('a single moment that a hold had put off still comes, and once [SC-25]', async (spine) => {
    const made = await plan(spine, { in: '20s' });
    await runNow(spine, made);
    await failNext(spine);
    assert.equal((await schedule(spine, made)).nextRunAt, spine.engine.now() + 30_000);
    await pass(spine, 25_000);
    await runNow(spine, made);
    await doNext(spine);
    assert.deepEqual(await statuses(spine, made), ['error', 'ok', 'pending']);
    await doNext(spine);
    await pass(spine, 60_000);
    assert.equal((await runsOf(spine, made)).length, 3);
  });

  each('the tick that is shown as next after disable and enable fires [SC-25]', async (spine) => {
    const made = await plan(spine, { every: '10s' });
    await runNow(spine, made);
    await failNext(spine);
    await spine.engine.schedules.enable(HEAD, made.id, false);
    const { nextRunAt } = await spine.engine.schedules.enable(HEAD, made.id, true);
    assert.equal(nextRunAt, made.nextRunAt);
    await pass(spine, 10_000);
    assert.deepEqual(await statuses(spine, made), ['error', 'pending']);
    assert.deepEqual(await spine.engine.schedules.missed(made.id, 10), []);
  });

  each('the tick that is shown as next after a change of the rule fires [SC-25]', async (spine) => {
    const made = await plan(spine, { every: '10s' });
    await runNow(spine, made);
    await failNext(spine);
    await pass(spine, 15_000);
    const { nextRunAt } = await spine.engine.schedules.update(HEAD, made.id, { every: '5s' });
    assert.equal(nextRunAt, made.createdAt + 20_000);
    await pass(spine, 5_000);
    assert.deepEqual(await statuses(spine, made), ['error', 'pending']);
    const [held, ...more] = await spine.engine.schedules.missed(made.id, 10);
    assert.deepEqual(
      [held?.at, held?.untilAt, held?.n, more],
      [made.createdAt + 10_000, made.createdAt + 10_000, 1, []],
    );
  });

  each('the ladder goes on over errors, timeouts and crashes alike [SC-25]', async (spine) => {
    const made = await plan(spine, { every: '10s' });
    const held: number[] = [];
    const ends = [
      () => failNext(spine),
      () => failNext(spine, 'late', 'timeout'),
      () => loseNext(spine),
      () => failNext(spine, 'silent', 'stale'),
      () => loseNext(spine),
    ];
    for (const end of ends) {
      await runNow(spine, made);
      await end();
      held.push(((await schedule(spine, made)).nextRunAt ?? 0) - spine.engine.now());
      // What the clock made meanwhile is not what this is about.
      while ((await take(spine)) !== null) continue;
      await spine.engine.schedules.cancel(HEAD, made.id, false);
      for (const { job } of await runsOf(spine, made))
        if (job.state === 'running') await spine.engine.leases.release(HEAD, job.id, null, null);
      await spine.engine.schedules.enable(HEAD, made.id, true);
    }
    assert.deepEqual(held, [30_000, 60_000, 300_000, 900_000, 3_600_000]);
    assert.equal((await schedule(spine, made)).consecutiveErrors, 5);
  });

  each(
    'a retry that succeeds clears the count of errors and fires no failure child [SC-46]',
    async (spine) => {
      const made = await plan(spine, { max_retries: 1 });
      const failure = await plan(spine, { name: 'alarm', parent_id: made.id, trigger_on: 'failure' });
      await runNow(spine, made);
      await failNext(spine);
      await pass(spine, 30_000);
      await failNext(spine);
      assert.equal((await schedule(spine, made)).consecutiveErrors, 1);
      await doNext(spine);
      await runNow(spine, made);
      await failNext(spine);
      // A retry is to come: nothing is decided yet.
      assert.equal((await schedule(spine, made)).consecutiveErrors, 1);
      await pass(spine, 30_000);
      await doNext(spine);
      const { consecutiveErrors, lastStatus } = await schedule(spine, made);
      assert.deepEqual([consecutiveErrors, lastStatus], [0, 'ok']);
      assert.equal((await runsOf(spine, failure)).length, 1);
    },
  );

  each('a lost worker is a crash: at-least-once does the run again at once, as a replay', async (spine) => {
    const made = await plan(spine, { delivery_guarantee: 'at-least-once', max_retries: 2 });
    const first = await runNow(spine, made);
    await loseNext(spine);
    assert.deepEqual(await statuses(spine, made), ['crashed', 'pending']);
    const [, replay] = await runsOf(spine, made);
    assert.deepEqual([replay?.run.kind, replay?.earlierId, replay?.job.retryCount], ['replay', first.id, 0]);
    await doNext(spine);
    assert.deepEqual(await statuses(spine, made), ['crashed', 'ok']);
    assert.equal((await schedule(spine, made)).consecutiveErrors, 0);
  });

  each(
    'a lost worker under at-most-once is never done again, however many retries there are',
    async (spine) => {
      const made = await plan(spine, { schedule: '0 0 1 1 *', max_retries: 5 });
      await runNow(spine, made);
      const lost = await loseNext(spine);
      await pass(spine, 3_600_000);
      assert.deepEqual(await statuses(spine, made), ['crashed']);
      const { lastStatus, consecutiveErrors, nextRunAt } = await schedule(spine, made);
      assert.deepEqual([lastStatus, consecutiveErrors, nextRunAt], ['crashed', 1, made.nextRunAt]);
      assert.equal((await spine.engine.jobs.get(HEAD, lost)).retryAt, null);
    },
  );

  each('a worker that says itself that it crashed gets no second try under at-most-once', async (spine) => {
    const made = await plan(spine, { max_retries: 5 });
    await runNow(spine, made);
    await failNext(spine, 'gone', 'crashed');
    await pass(spine, 3_600_000);
    assert.deepEqual(await statuses(spine, made), ['crashed']);
  });

  each('a run that loses its worker every time is given up after some replays', async (spine) => {
    const made = await plan(spine, { delivery_guarantee: 'at-least-once' });
    await runNow(spine, made);
    for (let i = 0; i < 6; i++) await loseNext(spine);
    assert.deepEqual(
      await statuses(spine, made),
      Array.from({ length: 6 }, () => 'crashed'),
    );
    assert.equal((await schedule(spine, made)).lastStatus, 'crashed');
  });

  each('the newest tick is not lost beside those that are made up for', async (spine) => {
    await startAt(spine, '2026-05-04T09:05:00Z');
    const made = await plan(spine, { schedule: '*/10 * * * *', catch_up: 'all' });
    // The last tick is on time: five seconds ago.
    await spine.clock.advance(Date.parse('2026-05-04T10:00:05Z') - spine.engine.now());
    await pump(spine);
    while ((await doNext(spine)) !== null) continue;
    assert.deepEqual(
      await statuses(spine, made),
      Array.from({ length: 6 }, () => 'ok'),
    );
    const due = (await runsOf(spine, made)).map(({ run }) =>
      new Date(run.dueAt ?? 0).toISOString().slice(11, 16),
    );
    assert.deepEqual(due, ['09:10', '09:20', '09:30', '09:40', '09:50', '10:00']);
  });
});
