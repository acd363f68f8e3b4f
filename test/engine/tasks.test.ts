import assert from 'node:assert/strict';
import type { Actor } from '../../src/domain/command.ts';
import { SpineError } from '../../src/domain/error.ts';
import { type Job, STATES } from '../../src/domain/job.ts';
import { type TaskStatus, taskStatusOf } from '../../src/domain/statuses.ts';
import type { TaskChange } from '../../src/engine/engine.ts';
import type { Store } from '../../src/store/store.ts';
import {
  claimed,
  create,
  DIALECTS,
  eventKinds,
  HEAD,
  onEvery,
  type Opened,
  read,
  reasonOf,
  refusal,
  worker,
} from '../support/engines.ts';

const NOTHING: TaskChange = { status: null, metadata: null, note: null };

onEvery(DIALECTS, (each) => {
  each('a card goes to every column and back [WK-21 WK-35]', async (spine) => {
    const job = await create(spine);
    const columns: TaskStatus[] = [
      'in-progress',
      'review',
      'done',
      'todo',
      'blocked',
      'todo',
      'done',
      'blocked',
    ];
    for (const status of columns) {
      const moved = await spine.engine.tasks.change(HEAD, await read(spine, job), { ...NOTHING, status });
      assert.equal(taskStatusOf(moved), status);
      assert.equal(taskStatusOf(await read(spine, job)), status);
    }
  });

  each(
    'who comes back after a crash gives up a task that is under way, and none that has ended [WK-32]',
    async (spine) => {
      const recovery = { status: 'todo', metadata: { crashRecovery: true }, note: null } as const;
      for (const [before, after] of [
        ['in-progress', 'todo'],
        ['review', 'review'],
        ['done', 'done'],
      ] as const) {
        const job = await create(spine);
        const moved = await spine.engine.tasks.change(HEAD, job, { ...NOTHING, status: 'in-progress' });
        const status = before === 'in-progress' ? null : before;
        const left = await spine.engine.tasks.change(HEAD, moved, { ...NOTHING, status });
        await spine.engine.tasks.change(HEAD, left, recovery);
        assert.equal(taskStatusOf(await read(spine, job)), after);
        assert.deepEqual(await metaOf(spine, job), { crashRecovery: true });
      }
    },
  );

  each('of many who take a card one gets it, and the others are told so [WK-12]', async (spine) => {
    const job = await create(spine);
    const seen = await read(spine, job);
    const takers = Array.from({ length: 20 }, (_, i) => worker(`w${i}`));
    const ends = await Promise.allSettled(
      takers.map((taker) => spine.engine.tasks.change(taker, seen, { ...NOTHING, status: 'in-progress' })),
    );
    assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
    const problems = ends.flatMap((end) => reasonOf(end)?.code ?? []);
    assert.deepEqual([...new Set(problems)], ['already_claimed']);
    assert.equal((await read(spine, job)).attempts, 1);
  });

  each('metadata joins what is there, with the status or not at all [WK-24 WK-35]', async (spine) => {
    const job = await create(spine, { meta: { a: 1, b: 1 } });
    const metadata = { b: 2, c: 3 };
    await spine.engine.tasks.change(HEAD, await read(spine, job), { ...NOTHING, metadata });
    assert.deepEqual(await metaOf(spine, job), { a: 1, b: 2, c: 3 });
    const seen = await read(spine, job);
    await claimed(spine, job);
    const late = { status: 'in-progress', metadata: { d: 4 }, note: null } as const;
    assert.equal(await refusal(spine.engine.tasks.change(worker('late'), seen, late)), 'already_claimed');
    assert.deepEqual(await metaOf(spine, job), { a: 1, b: 2, c: 3 });
    assert.deepEqual(await eventKinds(spine, job), ['job.created', 'job.edited', 'job.claimed']);
  });

  each(
    'the plan of a run is nothing that is said of it later: its answers go where its schedule says [WK-35]',
    async (spine) => {
      const { schedules, tasks } = spine.engine;
      const { id } = await schedules.create(HEAD, {
        name: 'Runs',
        schedule_kind: 'manual',
        session_target: 'queue',
      });
      const run = await schedules.run(HEAD, id);
      const before = (await metaOf(spine, run)) as Record<string, unknown>;
      for (const [name, value] of Object.entries({ schedule: null, run: {}, dueAt: 'x', trigger: [1] })) {
        const metadata = { [name]: value, more: 1 };
        const change = tasks.change(HEAD, await read(spine, run), { ...NOTHING, metadata });
        const refused = { code: 'bad_request', field: `metadata.${name}` };
        const said = await change.then(
          () => null,
          (error: unknown) =>
            error instanceof SpineError ? { code: error.code, field: error.details['field'] } : error,
        );
        assert.deepEqual(said, refused);
      }
      await tasks.change(HEAD, await read(spine, run), { ...NOTHING, metadata: { ...before, more: 1 } });
      assert.deepEqual(await metaOf(spine, run), { ...before, more: 1 });
    },
  );

  each('metadata is bounded, in one call and in all [WK-35]', async (spine) => {
    const job = await create(spine);
    const change = async (metadata: object) =>
      spine.engine.tasks.change(HEAD, await read(spine, job), { ...NOTHING, metadata: { ...metadata } });
    assert.equal(await refusal(change({ a: 'x'.repeat(17_000) })), 'bad_request');
    for (let i = 0; i < 8; i++) await change({ [`part${i}`]: 'x'.repeat(16_000) });
    assert.equal(await refusal(change({ more: 'x'.repeat(16_000) })), 'bad_request');
  });

  each(
    'what many add at the same time is bounded all the same, with the status or not at all [WK-35]',
    async (spine) => {
      const job = await create(spine);
      const seen = await read(spine, job);
      const adders = Array.from({ length: 20 }, (_, i) => ({
        status: i < 19 ? null : ('in-progress' as const),
        metadata: { [`part${i}`]: 'x'.repeat(16_000) },
        note: null,
      }));
      const ends = await Promise.allSettled(
        adders.map((change) => spine.engine.tasks.change(HEAD, seen, change)),
      );
      assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 8);
      const refusals = ends.flatMap((end) => reasonOf(end) ?? []);
      assert.deepEqual([...new Set(refusals.map(({ code }) => code))], ['bad_request']);
      assert.match(String(refusals[0]?.details['problem']), /at most 131072 bytes/);
      assert.equal(Object.keys((await metaOf(spine, job)) as object).length, 8);
      assert.deepEqual([(await read(spine, job)).state, (await read(spine, job)).attempts], ['queued', 0]);
    },
  );

  each('a card is made where it is to be, or not at all [WK-35]', async (spine) => {
    const { tasks, jobs } = spine.engine;
    const made = (status: TaskStatus | null, draft: object = {}, note: string | null = null) =>
      tasks.make(HEAD, { target: 'slot-1', title: 'Card', ...draft }, { status, note });
    for (const status of [null, 'todo', 'in-progress', 'review', 'done', 'blocked'] as const) {
      const task = await made(status, {}, status === 'blocked' ? 'no paint' : null);
      assert.equal(taskStatusOf(task), status ?? 'todo');
      assert.deepEqual(await read(spine, task), task);
    }
    const { no, leaseUntil } = await made('in-progress', { spec: { timeoutMs: 60_000 } });
    assert.equal(leaseUntil, spine.engine.now() + 60_000);
    const parent = await create(spine);
    const after = [{ job: parent.id }];
    assert.equal(await refusal(made('in-progress', { after })), 'not_ready');
    assert.equal(await refusal(made('done', { meta: { much: 'x'.repeat(120_000) } })), 'bad_request');
    assert.equal(taskStatusOf(await made('blocked', { after })), 'blocked');
    await spine.engine.routing.pause(HEAD, 'target', 'slot-1');
    assert.equal(await refusal(made('done')), 'paused');
    const left = await jobs.list(HEAD, { states: STATES, order: 'oldest', limit: 100, from: no });
    assert.deepEqual(
      left.map(({ state }) => state),
      ['queued', 'cancelled'],
    );
  });

  const commits = { count: 0 };
  each(
    'a card is made where it is to be in one commit: no death of the server leaves it elsewhere [WK-35]',
    async (spine) => {
      const before = commits.count;
      await spine.engine.tasks.make(HEAD, { target: 'slot-1' }, { status: 'review', note: 'look at it' });
      assert.equal(commits.count - before, 1);
    },
    { wrap: (store) => counting(store, commits) },
  );

  each('only head reopens, ends a review or blocks what nobody holds [WK-21]', async (spine) => {
    const job = await create(spine);
    const ann: Actor = worker('ann');
    const to = async (status: TaskStatus) =>
      spine.engine.tasks.change(ann, await read(spine, job), { ...NOTHING, status });
    assert.equal(await refusal(to('blocked')), 'not_owner');
    await to('in-progress');
    await to('review');
    assert.equal(await refusal(to('done')), 'not_owner');
    assert.equal(await refusal(to('todo')), 'not_owner');
    const bob = { ...NOTHING, metadata: { mine: true } };
    assert.equal(
      await refusal(spine.engine.tasks.change(worker('bob'), await read(spine, job), bob)),
      'not_owner',
    );
  });

  each('a task taken by its status is held as long as its session may take [WK-22]', async (spine) => {
    const { engine } = spine;
    const take = async (spec: object) => {
      const job = await create(spine, { spec });
      const taken = await engine.tasks.change(HEAD, job, { ...NOTHING, status: 'in-progress' });
      return (taken.leaseUntil ?? 0) - engine.now();
    };
    assert.equal(await take({}), 1_800_000);
    assert.equal(await take({ timeoutMs: 60_000 }), 60_000);
    assert.equal(await take({ timeoutMs: 36_000_000 }), 7_200_000);
  });

  each('whoever held a job to its end may still write down what was printed [WK-21]', async (spine) => {
    const job = await create(spine);
    const { leaseToken } = await claimed(spine, job);
    await spine.engine.tasks.change(HEAD, await read(spine, job), { ...NOTHING, status: 'review' });
    const lines = [{ at: 1, level: 'info', text: 'my findings' }] as const;
    await spine.engine.leases.log(worker('w'), job.id, leaseToken, lines);
    assert.equal(await refusal(spine.engine.leases.log(worker('w'), job.id, 'another', lines)), 'lease_lost');
    const [line] = await spine.engine.jobs.logs(HEAD, job.id, 0, 10);
    assert.equal(line?.text, 'my findings');
  });
});

async function metaOf(spine: Opened, job: Job): Promise<unknown> {
  return JSON.parse((await spine.store.read.jobs.inputOf(job.no)).meta ?? 'null');
}

function counting(store: Store, commits: { count: number }): Store {
  const transaction: Store['transaction'] = async (lane, work) => {
    const value = await store.transaction(lane, work);
    commits.count += 1;
    return value;
  };
  return new Proxy(store, {
    get: (target, name: keyof Store) => {
      const value = target[name];
      if (name === 'transaction') return transaction;
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
}
