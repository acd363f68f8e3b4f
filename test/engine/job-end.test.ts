import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../src/domain/limits.ts';
import type { Awaited } from '../../src/engine/engine.ts';
import { waiterPoll } from '../../src/loops/keepers.ts';
import { until } from '../support/clock.ts';
import {
  claimed,
  create,
  DIALECTS,
  failed,
  finished,
  HEAD,
  onEvery,
  type Opened,
  POSTGRES,
  refusal,
  runTimers,
  settleAll,
  worker,
} from '../support/engines.ts';

const WAIT_MS = 30_000;

/** Begins to wait, and resolves when the wait stands. */
async function waiting(spine: Opened, id: string, signal?: AbortSignal): Promise<{ end: Promise<Awaited> }> {
  const size = spine.engine.core.ends.size;
  const end = spine.engine.jobs.wait(HEAD, id, WAIT_MS, signal);
  await until('it waits', () => spine.engine.core.ends.size > size);
  return { end };
}

onEvery(DIALECTS, (each) => {
  each(
    'whoever waits for the end of a job hears of it with the commit, and time stands still',
    async (spine) => {
      const job = await create(spine);
      const { end } = await waiting(spine, job.id);
      const startedAt = spine.clock.now();
      await finished(spine, job, 'the result');
      const answer = await end;
      assert.deepEqual([answer.job.state, answer.ended, answer.lastId], ['done', true, job.id]);
      assert.equal(spine.clock.now(), startedAt);
      assert.equal(spine.engine.core.ends.size, 0);
    },
  );

  each(
    'a wait that is over answers the job as it is, and one for an ended job does not begin',
    async (spine) => {
      const job = await create(spine);
      const { end } = await waiting(spine, job.id);
      await claimed(spine, job);
      await spine.clock.advance(WAIT_MS);
      const late = await end;
      assert.deepEqual([late.job.state, late.ended], ['running', false]);
      await spine.engine.jobs.cancel(HEAD, job.id, null);
      const other = await create(spine);
      await spine.engine.jobs.cancel(HEAD, other.id, null);
      assert.equal((await spine.engine.jobs.wait(HEAD, other.id, WAIT_MS)).ended, true);
      assert.equal(spine.engine.core.ends.size, 0);
    },
  );

  each('a job with dependents is answered once its end is settled', async (spine) => {
    const parent = await create(spine);
    await create(spine, { after: [{ job: parent.id }] });
    const { end } = await waiting(spine, parent.id);
    let answered = false;
    void end.then(() => (answered = true));
    await finished(spine, parent);
    assert.equal(answered, false);
    await settleAll(spine);
    assert.equal((await end).ended, true);
  });

  each(
    'where retries are new jobs, the end of the last one is waited for, and it is named',
    async (spine) => {
      const first = await create(spine, { retry: { mode: 'lineage', max: 1, backoffMs: 0 } });
      const { end } = await waiting(spine, first.id);
      await failed(spine, first);
      await settleAll(spine);
      const [retry] = await spine.engine.jobs.list(HEAD, {
        states: ['queued', 'scheduled'],
        order: 'oldest',
        limit: 9,
      });
      assert.ok(retry);
      await spine.clock.advance(1_000);
      await runTimers(spine);
      await finished(spine, retry, 'second try');
      await settleAll(spine);
      const { job, ended, lastId } = await end;
      assert.deepEqual([job.id, job.state, ended, lastId], [first.id, 'failed', true, retry.id]);
    },
  );

  each('a caller that has gone gives its place back at once', async (spine) => {
    const job = await create(spine);
    const gone = new AbortController();
    const { end } = await waiting(spine, job.id, gone.signal);
    gone.abort();
    assert.equal((await end).ended, false);
    assert.equal(spine.engine.core.ends.size, 0);
  });

  each('a server that stops lets all who wait go', async (spine) => {
    const job = await create(spine);
    const { end } = await waiting(spine, job.id);
    spine.engine.core.stopWaiting();
    assert.equal((await end).ended, false);
  });

  each(
    'more than so many do not wait at a time, and a full house is no reason to refuse a look',
    async (spine) => {
      const { engine } = spine;
      const job = await create(spine);
      for (let i = 0; i < LIMITS.waitingReaders; i++) engine.core.ends.enter(job.no);
      assert.equal(await refusal(engine.jobs.wait(HEAD, job.id, WAIT_MS)), 'overloaded');
      assert.equal((await engine.jobs.wait(HEAD, job.id, 0)).ended, false);
    },
  );

  each('nobody waits for a job of others', async (spine) => {
    const job = await create(spine, { target: 'left-claw' });
    const other = worker('right-claw', ['right-claw', 'any']);
    assert.equal(await refusal(spine.engine.jobs.wait(other, job.id, WAIT_MS)), 'forbidden');
    assert.equal(await refusal(spine.engine.jobs.wait(HEAD, 'nobody', WAIT_MS)), 'not_found');
  });
});

void test('an end on another server is told to whoever waits here, and found by a look when the word is lost', {
  skip: POSTGRES.skip,
}, async () => {
  await using here = await POSTGRES.open();
  await using there = (await here.another?.()) as Opened;
  for (const { engine, store } of [here, there])
    await store.listen((wakeUps) => engine.core.heardOf(wakeUps));
  const told = await create(here);
  const { end } = await waiting(here, told.id);
  await until('the other server has heard', () => there.engine.core.ends.remembered > 0);
  await finished(there, told);
  assert.equal((await end).ended, true);

  const lost = await create(here);
  const next = await waiting(here, lost.id);
  await until('the other server has heard', () => there.engine.core.ends.remembered > 0);
  there.engine.core.ends.ended([lost.no]);
  await finished(there, lost);
  await waiterPoll(here.engine.core).runOnce();
  assert.equal((await next.end).ended, true);
});
