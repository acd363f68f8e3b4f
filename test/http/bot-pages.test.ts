/** Lists at the door of bots: each ends before it is too long, and an offset leads to the rest. */

import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test, type TestContext } from 'node:test';
import { LIMITS } from '../../src/domain/limits.ts';
import type { Job } from '../../src/domain/job.ts';
import type { OpenEngine } from '../../src/engine/open-engine.ts';
import type { HttpClient } from '../support/http.ts';
import { raised } from '../../src/domain/priority.ts';
import { insert, row } from '../conformance/rows.ts';
import { loggedIn } from './bots.ts';
import { openServer } from './server.ts';

const HEAD = { name: 'head', role: 'head', targets: null } as const;
const ADMIN = '/api/v1/admin/workers';
const WORKER = '/api/v1/worker';
const WIDE = '仕';

interface Listed {
  readonly data: readonly object[] | { readonly files: readonly object[]; readonly total: number };
  readonly has_more: boolean;
}

suite('a list for bots', () => {
  test('of one’s own tasks counts the instructions that come with each', async (t) => {
    const { engine, admin, bot } = await openBots(t);
    await engine.types.save(HEAD, { name: 'long', sop: WIDE.repeat(LIMITS.sopChars) });
    for (let i = 0; i < 60; i++) await begun(engine, { type: 'long', title: `T${i}` });
    for (let i = 0; i < 20; i++) await made(engine, { type: 'long', target: 'w1', title: `P${i}` });
    const pages = await walk(bot, `${WORKER}/tasks`);
    ok(pages.length > 5, `${pages.length} pages`);
    strictEqual(new Set(pages.flat().map((task) => (task as { id: string }).id)).size, 80);
    // Where the instructions are not shown they take no room.
    strictEqual((await walk(admin, `${ADMIN}/tasks`)).length, 1);
  });

  test('of tasks keeps its order however many there are, and ends', async (t) => {
    const { engine, admin, bot } = await openBots(t);
    const { store } = engine.core;
    const ended = { state: 'done', settled: 2, finishedAt: 1 } as const;
    await insert(store, [
      row({ ...ended, priority: 20 }, { title: 'high, done' }),
      ...Array.from({ length: 1_200 }, () => row({ ...ended, priority: 10 })),
      ...Array.from({ length: 1_100 }, () =>
        row({ ...ended, priority: 10, claimedBy: 'w1', leasePolicy: 'presence' }),
      ),
      row({ priority: 0 }, { title: 'low' }),
      ...Array.from({ length: 1_001 }, () => row({ priority: 10 })),
      row({ priority: raised(20) }, { title: 'high, raised' }),
      row({ priority: 30 }, { title: 'urgent' }),
    ]);
    const titles = async (query: string): Promise<string[]> =>
      ((await admin.get<Listed>(`${ADMIN}/tasks?${query}`)).body.data as { title: string }[]).map(
        ({ title }) => title,
      );
    deepStrictEqual(await titles('limit=3'), ['urgent', 'high, raised', 'high, done']);
    deepStrictEqual(await titles('limit=2&status=pending'), ['urgent', 'high, raised']);
    deepStrictEqual(await titles('offset=3304'), ['low']);
    const all = await walk(admin, `${ADMIN}/tasks`);
    deepStrictEqual(
      all.map(({ length }) => length),
      [1_000, 1_000, 1_000, 305],
    );
    strictEqual(new Set(all.flat().map((task) => (task as { id: string }).id)).size, 3_305);
    const own = await walk(bot, `${WORKER}/tasks`);
    deepStrictEqual(
      own.map(({ length }) => length),
      [1_000, 100],
    );
    for (const [client, path] of [
      [admin, `${ADMIN}/tasks?offset=5000`],
      [bot, `${WORKER}/tasks?offset=5000`],
    ] as const) {
      const { body } = await client.get<Listed>(path);
      deepStrictEqual([body.data, body.has_more], [[], false]);
    }
  });

  test('of tasks that a bot holds counts what they hold', async (t) => {
    const { engine, bot } = await openBots(t);
    const description = 'd'.repeat(LIMITS.descriptionChars);
    for (let i = 0; i < 200; i++) await begun(engine, { description });
    const first = await bot.get<Listed>(`${WORKER}/tasks?status=in_progress`);
    ok(first.text.length <= LIMITS.answerBytes && first.body.has_more, `${first.text.length}`);
  });

  test('of updates is bounded by bytes', async (t) => {
    const { engine, admin, bot } = await openBots(t);
    const { id } = await begun(engine, {});
    const text = WIDE.repeat(LIMITS.commentChars);
    for (let i = 0; i < 300; i++) await engine.jobs.comment(HEAD, id, text);
    for (const [client, path] of [
      [bot, `${WORKER}/tasks/${id}/updates`],
      [admin, `${ADMIN}/tasks/${id}/updates`],
    ] as const) {
      const pages = await walk(client, path);
      ok(pages.length > 1, `${pages.length} pages`);
      deepStrictEqual(
        pages.flat().map((update) => (update as { id: string }).id),
        Array.from({ length: 300 }, (_, i) => `${id}-${i + 1}`),
      );
    }
    const some = await bot.get<Listed>(`${WORKER}/tasks/${id}/updates?limit=2&offset=298`);
    deepStrictEqual([count(some.body), some.body.has_more], [2, false]);
    const none = await bot.get<Listed>(`${WORKER}/tasks/${id}/updates?offset=300`);
    deepStrictEqual([count(none.body), none.body.has_more], [0, false]);
    strictEqual((await bot.get(`${WORKER}/tasks/${id}/updates?limit=0`)).status, 400);
  });

  test('of task types is bounded by bytes', async (t) => {
    const { engine, admin, bot } = await openBots(t);
    const sop = WIDE.repeat(LIMITS.sopChars);
    for (let i = 0; i < 40; i++) await engine.types.save(HEAD, { name: `type_${i}`, sop });
    for (const [client, path] of [
      [bot, `${WORKER}/task-types`],
      [admin, `${ADMIN}/task-types`],
    ] as const) {
      const pages = await walk(client, path);
      ok(pages.length > 1, `${pages.length} pages`);
      strictEqual(new Set(pages.flat().map((type) => (type as { name: string }).name)).size, 40);
    }
  });

  test('of batches finds those about a ticker among many, and has pages', async (t) => {
    const { engine, bot } = await openBots(t);
    const job = await begun(engine, {});
    await engine.core.store.transaction(0, async (tx) => {
      for (let i = 0; i < 1_500; i++) {
        const key = `worker-data/${job.id}/t/${String(i).padStart(4, '0')}.json`;
        const about = { dataType: 't', items: 2, size: 1, sha256: '' };
        await tx.taskData.announceBatch({ key, jobNo: null, ...about, uploadedAt: i, uploadedBy: 'w1' });
        await tx.taskData.addTickers(job.no, key, ['ALL', `T${i}`]);
        await tx.taskData.recordBatch(key, job.no, i);
      }
    });
    const path = `${WORKER}/tasks/${job.id}/data?limit=1000`;
    const found = async (ticker: string): Promise<unknown[]> => {
      const { body } = await bot.get<Listed>(`${path}&ticker=${encodeURIComponent(ticker)}`);
      ok('files' in body.data);
      return [body.data.files.length, body.data.total, body.has_more];
    };
    deepStrictEqual(
      (await walk(bot, path)).map(({ length }) => length),
      [1_000, 500],
    );
    deepStrictEqual(await found('T7'), [1, 2, false]);
    deepStrictEqual(await found('ALL'), [1_000, 3_000, true]);
    deepStrictEqual(await found('%'), [0, 0, false]);
    const more = () =>
      bot.post(`${WORKER}/tasks/${job.id}/data`, { data_type: 't', items: [{ data: 'x'.repeat(500) }] });
    strictEqual((await more()).status, 201);
    await engine.core.store.transaction(0, async (tx) => {
      const key = `worker-data/${job.id}/t/large.json`;
      const about = { dataType: 't', items: 1, size: LIMITS.dataBytesPerTask - 2_500, sha256: '' };
      await tx.taskData.announceBatch({ key, jobNo: null, ...about, uploadedAt: 0, uploadedBy: 'w1' });
      await tx.taskData.recordBatch(key, job.no, 0);
    });
    const full = await more();
    strictEqual(full.status, 409, full.text);
    ok(full.text.includes('A task takes at most 1073741824 bytes of data'), full.text);
    await engine.bots.remove(HEAD, job.id);
    const left = await engine.core.store.transaction(0, async (tx) =>
      tx.taskData.list(job.no, { dataType: null, ticker: 'ALL', limit: 9, offset: 0 }),
    );
    deepStrictEqual(left, []);
  });
});

async function openBots(t: TestContext) {
  const spine = await openServer(t);
  return {
    engine: spine.engine,
    admin: await loggedIn(t, spine, 'ada', { admin: true }),
    bot: await loggedIn(t, spine, 'w1', { worker: true }),
  };
}

async function made({ jobs }: OpenEngine, draft: object): Promise<Job> {
  const { jobs: some } = await jobs.create(HEAD, [{ target: 'any', ...draft }]);
  return some[0] as Job;
}

async function begun(engine: OpenEngine, draft: object): Promise<Job> {
  const job = await made(engine, draft);
  return (
    await engine.leases.claim({ name: 'w1', role: 'worker', targets: null }, job.id, { policy: 'presence' })
  ).job;
}

function count({ data }: Listed): number {
  return 'files' in data ? data.files.length : data.length;
}

/** All pages from the first to the last, each within its bounds. */
async function walk(client: HttpClient, path: string): Promise<object[][]> {
  const pages: object[][] = [];
  for (let offset = 0; ; ) {
    const { status, text, body } = await client.get<Listed>(
      `${path}${path.includes('?') ? '&' : '?'}offset=${offset}`,
      { timeoutMs: 60_000 },
    );
    strictEqual(status, 200, text.slice(0, 500));
    ok(Buffer.byteLength(text) <= 1.1 * LIMITS.answerBytes, `${path}: ${Buffer.byteLength(text)}`);
    pages.push([...('files' in body.data ? body.data.files : body.data)]);
    offset += count(body);
    if (!body.has_more) return pages;
    ok(count(body) > 0 && pages.length < 100);
  }
}
