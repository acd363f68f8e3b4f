import assert from 'node:assert/strict';
import { FILTERED } from '../../src/domain/job-fields.ts';
import type { ListFilter } from '../../src/domain/job-filter.ts';
import type { Run } from '../../src/domain/run.ts';
import { type Job, OPEN_STATES, STATES, type State } from '../../src/domain/job.ts';
import { raised } from '../../src/domain/priority.ts';
import { rest } from '../support/clock.ts';
import { claimNext, create, createMany, type Each, HEAD, type Opened, worker } from '../support/engines.ts';
import { insert, row } from './rows.ts';

const ALL: ListFilter = {
  states: STATES,
  targets: null,
  typeNo: null,
  tag: null,
  retries: false,
  order: 'oldest',
  from: null,
  limit: 1_000,
};

const RUN: Run = {
  jobNo: 0,
  scheduleId: 's',
  kind: 'manual',
  dueAt: null,
  triggeredBy: null,
  active: 0,
  sessionKey: null,
  transport: null,
  dispatchedAt: null,
  lastHeartbeat: null,
  contextSummary: null,
  promptHash: null,
};

export function listTopics(each: Each): void {
  each('lists by state, target, type and tag, and by all of them at once', async ({ store }) => {
    const rows = [];
    for (const state of ['queued', 'done'] as const)
      for (const target of ['a', 'b'])
        for (const typeNo of [0, 3])
          for (const tags of [[], ['x'], ['x', 'y']]) rows.push({ state, target, typeNo, tags });
    await insert(
      store,
      rows.map(({ tags, ...job }) => row(job, { tags })),
    );
    const count = async (filter: Partial<ListFilter>): Promise<number> =>
      (await store.read.jobs.list({ ...ALL, ...filter })).length;
    assert.equal(await count({}), 24);
    assert.equal(await count({ states: ['queued'] }), 12);
    assert.equal(await count({ targets: ['a'] }), 12);
    assert.equal(await count({ targets: ['a', 'b'] }), 24);
    assert.equal(await count({ typeNo: 3 }), 12);
    assert.equal(await count({ tag: 'x' }), 16);
    assert.equal(await count({ tag: 'y' }), 8);
    assert.equal(await count({ states: ['done'], targets: ['b'], typeNo: 0, tag: 'y' }), 1);
    assert.equal(await count({ targets: ['nobody'] }), 0);
    assert.equal(await count({ states: [] }), 0);
  });

  each('lists by every field that the table of fields lets lists be asked for', async ({ store }) => {
    for (const { name, is } of FILTERED) {
      const kept = (values: readonly string[]): string =>
        is === 'texts' ? JSON.stringify(values) : values.join();
      await insert(store, [row({ [name]: kept(['one']) }), row({ [name]: kept(['another']) }), row({})]);
      const found = await store.read.jobs.list({ ...ALL, [name]: 'one' });
      assert.deepEqual(
        found.map((job) => job[name]),
        [kept(['one'])],
        name,
      );
    }
  });

  each('lists the same jobs in pages of any size, both ways round', async ({ store }) => {
    const states: State[] = ['queued', 'running', 'done', 'dead', 'queued'];
    await insert(
      store,
      Array.from({ length: 25 }, (_, i) => row({ state: states[i % 5] as State })),
    );
    const oldest = (await store.read.jobs.list(ALL)).map((job) => job.no);
    assert.deepEqual(
      oldest,
      oldest.toSorted((a, b) => a - b),
    );
    for (const limit of [1, 4, 7]) {
      assert.deepEqual(await paged(store.read, { ...ALL, limit }), oldest);
      assert.deepEqual(await paged(store.read, { ...ALL, limit, order: 'newest' }), oldest.toReversed());
    }
  });

  each('looks at a bounded part of a list where few fit, and says where to go on', async ({ store }) => {
    const rare = (state: State) => row({ state, target: 'rare' });
    const others = (state: State) => Array.from({ length: 2_200 }, () => row({ state }));
    const rows = [rare('done'), ...others('done'), rare('queued'), ...others('queued'), rare('running')];
    const nos = (await insert(store, rows)).filter(({ target }) => target === 'rare').map(({ no }) => no);
    for (const order of ['oldest', 'newest'] as const) {
      const filter = { ...ALL, targets: ['rare'], order, limit: 10 };
      const pages = [await store.read.jobs.look(filter)];
      for (let from = pages[0]?.next ?? null; from !== null; from = pages.at(-1)?.next ?? null)
        pages.push(await store.read.jobs.look({ ...filter, from }));
      const found = pages.flatMap(({ jobs }) => jobs.map(({ no }) => no));
      assert.deepEqual(found, order === 'oldest' ? nos : nos.toReversed());
      assert.ok(pages.length > 2, `${pages.length} looks at ${rows.length} jobs`);
    }
    const plain = await store.read.jobs.look({ ...ALL, limit: 5_000 });
    assert.deepEqual([plain.jobs.length, plain.next], [rows.length, null]);
    const first = await store.read.jobs.look({ ...ALL, targets: ['any'], limit: 7 });
    assert.deepEqual([first.jobs.length, first.next], [7, first.jobs.at(-1)?.no]);
  });

  each(
    'looks at a bounded part of the history of runs, and finds the silent ones among those that run',
    async ({ store }) => {
      const states: State[] = ['failed', ...Array.from({ length: 2_100 }, (): State => 'done'), 'failed'];
      const held = { state: 'running', leaseUntil: 9_000, leasePolicy: 'own' } as const;
      const jobs = await insert(store, [
        ...states.map((state) => row({ state, scheduleId: 's' })),
        row({ ...held, scheduleId: 's', updatedAt: 1_000 }),
        row({ ...held, scheduleId: 's', updatedAt: 5_000 }),
        row({ ...held, scheduleId: 's', updatedAt: 1_000, leasePolicy: 'presence' }),
        row({ ...held, updatedAt: 1_000 }),
      ]);
      const made = jobs
        .filter(({ scheduleId }) => scheduleId !== null)
        .map(({ no }) => ({ ...RUN, jobNo: no }));
      await store.transaction(0, (tx) => Promise.resolve(tx.runs.insert(made)));
      const filter = { states: ['failed' as const], limit: 10 };
      const first = await store.read.runs.look(filter);
      const second = await store.read.runs.look({ ...filter, before: first.next ?? 0 });
      const failed = jobs.filter(({ state }) => state === 'failed').map(({ no }) => no);
      assert.deepEqual(
        [first, second].map(({ runs }) => runs.map(({ job }) => job.no)),
        [failed.slice(1), failed.slice(0, 1)],
      );
      assert.equal(second.next, null);
      const silent = (await store.read.runs.silent(4_000, 10)).map(({ job }) => job.no);
      assert.deepEqual(silent, [jobs.at(-2)?.no, jobs.at(-4)?.no]);
      assert.equal((await store.read.runs.silent(4_000, 1)).length, 1);
    },
  );

  each('shows nothing, and no error, to somebody who asks for what is not theirs', async (spine) => {
    await create(spine, { target: 'a' });
    const list = (targets: readonly string[], target?: string) =>
      spine.engine.jobs.list(worker('w', targets), {
        states: STATES,
        order: 'oldest',
        limit: 10,
        ...(target !== undefined && { target }),
      });
    assert.equal((await list(['a'], 'a')).length, 1);
    assert.deepEqual(await list(['b'], 'a'), []);
    assert.deepEqual(await list(['b']), []);
    assert.deepEqual(await list([]), []);
  });

  each('shows every job once on its pages while jobs change their state', async (spine) => {
    const jobs = await createMany(spine, 120);
    const work = { going: true };
    const worked = (async () => {
      for (let i = 0; i < 15; i++) {
        const held = await claimNext(spine, { max: 8 });
        await Promise.all(
          held.map(({ job }, k) =>
            spine.engine.leases[k % 2 === 0 ? 'complete' : 'release'](
              worker('w'),
              job.id,
              job.leaseToken,
              null,
            ),
          ),
        );
      }
      work.going = false;
    })();
    const expected = jobs.map((job) => job.no);
    const faults: string[] = [];
    while (work.going) {
      // The reads above the file may not leave the event loop: the workers need it too.
      await rest(1);
      const seen = await paged(spine.store.read, { ...ALL, limit: 17 });
      if (new Set(seen).size !== seen.length) faults.push('a job twice');
      if (expected.some((no) => !seen.includes(no))) faults.push('a job missing');
    }
    await worked;
    assert.deepEqual([...new Set(faults)], []);
  });

  each('goes down the tasks a window at a time, and says which come first in it', async ({ store }) => {
    const priorities = [10, 0, 30, raised(20), -5, 20, 29, raised(-5)];
    const jobs = await insert(
      store,
      priorities.map((priority, i) =>
        row({ priority, state: i % 2 === 0 ? 'queued' : 'done', retryCount: i % 4 === 3 ? 1 : 0 }),
      ),
    );
    const filter = { ...ALL, order: 'newest', limit: 5 } as const;
    const shown = async (wanted: ListFilter, most: number): Promise<unknown[]> => {
      const { ranked, size, next } = await store.read.bots.ranked(wanted, most);
      const places = ranked.map(({ no, rank }) => [jobs.findIndex((job) => job.no === no), rank]);
      return [places, size, next === null ? null : jobs.findIndex((job) => job.no === next)];
    };
    const first = [
      [6, 20],
      [5, 20],
      [3, 20],
      [7, 0],
      [4, 0],
    ];
    assert.deepEqual(await shown(filter, 9), [first, 5, 3]);
    assert.deepEqual(await shown(filter, 2), [first.slice(0, 2), 5, 3]);
    const rest = [
      [2, 30],
      [0, 10],
      [1, 0],
    ];
    assert.deepEqual(await shown({ ...filter, from: jobs[3]?.no ?? 0 }, 9), [rest, 3, null]);
    assert.deepEqual(await shown({ ...filter, states: ['done'], retries: true }, 9), [
      [
        [3, 20],
        [7, 0],
      ],
      2,
      null,
    ]);
    assert.deepEqual(await shown({ ...filter, states: [] }, 9), [[], 0, null]);
  });

  each('knows what a bot holds and ended, and what each works on', async ({ store }) => {
    const bot = (job: Partial<Job>) =>
      row({ claimedBy: 'w', leasePolicy: 'presence', ...job }, { title: `from ${job.startedAt}` });
    const ended = (finishedAt: number) => bot({ state: 'done', finishedAt });
    const jobs = await insert(store, [
      bot({ state: 'running', startedAt: 7, priority: 10 }),
      bot({ state: 'running', startedAt: 5 }),
      ...[3, 1, 2].map(ended),
      row({ claimedBy: 'w', state: 'running' }),
      ...Array.from({ length: 3 }, (_, i) => bot({ claimedBy: 'x', state: 'running', startedAt: i })),
    ]);
    const held = async (states: readonly State[], limit: number, most: number): Promise<number[]> =>
      (await store.read.bots.held('w', { states, typeNo: null, retries: false, limit }, most)).map(({ no }) =>
        jobs.findIndex((job) => job.no === no),
      );
    assert.deepEqual(await held(['running', 'done'], 9, 9), [0, 4, 3, 2, 1]);
    assert.deepEqual(await held(['running', 'done'], 2, 2), [0, 4]);
    assert.deepEqual(await held(['done'], 2, 9), [4, 2], 'of what ended, the last ends');
    assert.deepEqual(await held([], 9, 9), []);
    const running = await store.read.bots.running();
    assert.deepEqual(
      ['w', 'x', 'y'].map((name) => running.get(name)?.title),
      ['from 7', 'from 2', undefined],
    );
  });

  each('finds a job by its number and by its id', async (spine) => {
    const job = await create(spine);
    assert.deepEqual(await spine.engine.jobs.get(HEAD, String(job.no)), job);
    assert.deepEqual(await spine.engine.jobs.get(HEAD, job.id), job);
    await assert.rejects(spine.engine.jobs.get(HEAD, String(job.no + 1)), { code: 'not_found' });
    await assert.rejects(spine.engine.jobs.get(HEAD, 'nobody'), { code: 'not_found' });
  });

  each('gives details of many jobs at once: names of types, parents and retries', async (spine) => {
    const parent = await create(spine, { type: 'build' });
    const child = await create(spine, { parentId: parent.id, type: 'test' });
    const [retry] = await insert(spine.store, [row({ retryOf: child.no, rootNo: child.no })]);
    const details = await spine.engine.jobs.details([parent, child, retry as Job]);
    const shown = [parent, child, retry as Job]
      .map((job) => details.get(job.no))
      .map((one) => [one?.typeName, one?.parentId, one?.retryOfId]);
    assert.deepEqual(shown, [
      ['build', null, null],
      ['test', parent.id, null],
      [null, null, child.id],
    ]);
  });

  each('lists open jobs only when asked for them', async (spine: Opened) => {
    await insert(
      spine.store,
      STATES.map((state) => row({ state })),
    );
    const open = await spine.store.read.jobs.list({ ...ALL, states: OPEN_STATES });
    assert.deepEqual(open.map((job) => job.state).toSorted(), [...OPEN_STATES].toSorted());
  });
}

async function paged(read: Opened['store']['read'], filter: ListFilter): Promise<number[]> {
  const nos: number[] = [];
  let from: number | null = null;
  for (;;) {
    const page: Job[] = await read.jobs.list({ ...filter, from });
    nos.push(...page.map((job) => job.no));
    const last = page.at(-1);
    if (last === undefined) return nos;
    from = last.no;
  }
}
