import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { SpineError } from '../../src/domain/error.ts';
import type { Job } from '../../src/domain/job.ts';
import {
  create,
  createMany,
  DIALECTS,
  finished,
  HEAD,
  onEvery,
  type Opened,
  refusal,
  stateOf,
} from '../support/engines.ts';
import { runNow } from '../support/scheduling.ts';

/** A child of the job, one of that child, and a job that is no kin. */
async function familyOf(spine: Opened, { id: parentId }: Pick<Job, 'id'>) {
  const child = await create(spine, { parentId, target: 'elsewhere' });
  const grandchild = await create(spine, { parentId: child.id });
  const stranger = await create(spine);
  const states = async () =>
    (await Promise.all([child, grandchild, stranger].map((job) => stateOf(spine, job)))).join(' ');
  return { states };
}

const CANCELLED = 'cancelled cancelled queued';

/** Lets so many transactions through, and no more until it is undone. */
function dyingAfter({ store }: Opened, count: number): { undo: () => void } {
  const transaction = store.transaction.bind(store);
  let left = count;
  const { mock: made } = mock.method(store, 'transaction', ((lane, work) =>
    left-- > 0
      ? transaction(lane, work)
      : Promise.reject(new SpineError('store_unavailable'))) as typeof transaction);
  return { undo: () => made.restore() };
}

onEvery(DIALECTS, (each) => {
  each(
    'a job that is cancelled takes along what it created, by whatever way it is cancelled',
    async (spine) => {
      const { engine } = spine;
      const ways: Record<string, (job: Job) => Promise<unknown>> = {
        'as itself': (job) => engine.jobs.cancel(HEAD, job.id, null),
        'as a card': (job) =>
          engine.tasks.change(HEAD, job, { status: 'blocked', metadata: { errorReason: 'off' }, note: null }),
        'as a task that nobody began': (job) =>
          engine.bots.change(HEAD, job, {}, { status: 'failed', countsRetry: false, bot: null }),
      };
      for (const [way, cancel] of Object.entries(ways)) {
        const job = await create(spine);
        const family = await familyOf(spine, job);
        await cancel(job);
        assert.equal(await stateOf(spine, job), 'cancelled', way);
        assert.equal(await family.states(), CANCELLED, way);
      }
    },
  );

  each('a run that goes with its schedule takes along what it created', async (spine) => {
    const { schedules } = spine.engine;
    const kept = { schedules: [], types: [], pools: [] };
    const ways: Record<string, (id: string) => Promise<unknown>> = {
      cancelled: (id) => schedules.cancel(HEAD, id, true),
      deleted: (id) => schedules.remove(HEAD, id),
      pruned: () => schedules.apply(HEAD, kept, { mark: 'apply:ops', prune: true, dryRun: false }),
    };
    for (const [name, end] of Object.entries(ways)) {
      const draft = { name, schedule: '0 2 * * *', session_target: 'queue' };
      const options = { mark: 'apply:ops', prune: false, dryRun: false };
      await schedules.apply(HEAD, { ...kept, schedules: [draft] }, options);
      const made = (await schedules.list({ afterNo: 0, limit: 9 })).find(({ spec }) => spec.name === name);
      const run = await runNow(spine, made ?? assert.fail('it was not made'));
      const { states } = await familyOf(spine, run);
      await end(run.scheduleId ?? '');
      assert.equal(await stateOf(spine, run), 'cancelled', name);
      assert.equal(await states(), CANCELLED, name);
    }
  });

  each('a cancel that is refused ends nothing', async (spine) => {
    const { engine } = spine;
    const job = await create(spine);
    const { states } = await familyOf(spine, job);
    await finished(spine, job);
    assert.equal(await refusal(engine.jobs.cancel(HEAD, job.id, null)), 'conflict');
    const bounded = { ...HEAD, targets: ['elsewhere'] };
    assert.equal(await refusal(engine.jobs.cancel(bounded, job.id, null)), 'forbidden');
    assert.equal(await states(), 'queued queued queued');
  });

  each(
    'a family too big for one transaction goes piece by piece, itself last and what waits for others first',
    async (spine) => {
      const { engine } = spine;
      const job = await create(spine);
      const [first] = await createMany(spine, 600, { parentId: job.id });
      assert.ok(first !== undefined);
      const waiting = await create(spine, { parentId: job.id, after: [{ job: first.id, on: 'complete' }] });
      const dying = dyingAfter(spine, 1);
      await assert.rejects(engine.jobs.cancel(HEAD, job.id, null), { code: 'store_unavailable' });
      dying.undo();
      const ended = async (): Promise<number> =>
        (await engine.counts()).find(({ state }) => state === 'cancelled')?.n ?? 0;
      assert.ok((await ended()) > 0 && (await ended()) <= 250, 'one piece has ended');
      assert.deepEqual(
        [await stateOf(spine, job), await stateOf(spine, first), await stateOf(spine, waiting)],
        ['queued', 'queued', 'cancelled'],
      );
      await engine.jobs.cancel(HEAD, job.id, null);
      assert.equal(await ended(), 602);
    },
  );
});
