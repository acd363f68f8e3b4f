import { deepStrictEqual, strictEqual } from 'node:assert';
import { after, before, suite, test } from 'node:test';
import { startServer, WITHOUT_FILES } from '../support/server.ts';
import { addTask, addType, ADMIN, type BotServer, claimed, expectError, peopled, put } from './bot-cases.ts';

/** What steers the queue of bots beside its order. */
suite('what admins say of a type', () => {
  let spine: BotServer;
  before(async () => {
    spine = await peopled(await startServer({ env: WITHOUT_FILES }), 1);
  });
  after(() => spine.stop());

  test('a task with a tag that its type gives points for goes first, within its word of priority [TQ-03 TQ-45]', async () => {
    const scoring = { tags: { watchlist: 5 }, perHour: 0.5 };
    const type = await addType(spine, { scoring });
    const add = (title: string, priority: string, tags: string[]) =>
      addTask(spine, { title, priority, tags, task_type_id: type.id });
    await add('older', 'medium', []);
    await add('watched', 'medium', ['watchlist']);
    await add('urgent', 'urgent', []);
    await add('watched, but low', 'low', ['watchlist']);
    const order = [];
    for (let i = 0; i < 4; i++) {
      const { title, priority } = await claimed(spine.bots[0] as never);
      order.push([title, priority]);
    }
    deepStrictEqual(order, [
      ['urgent', 'urgent'],
      ['watched', 'medium'],
      ['older', 'medium'],
      ['watched, but low', 'low'],
    ]);
  });

  test('a change of a type leaves its scoring and its provider as they are, unless it says otherwise [TQ-45]', async () => {
    const type = await addType(spine, { scoring: { perHour: 2 }, provider: 'anthropic' });
    const path = `${ADMIN}/task-types/${type.id}`;
    await put(spine.admin.http, path, { label: 'Crawl' });
    const native = await spine.server.head.get(`/types/${type.name}`);
    deepStrictEqual([native.body['scoring'], native.body['provider']], [{ perHour: 2 }, 'anthropic']);
    const changed = await put(spine.admin.http, path, { scoring: { points: 3 } });
    deepStrictEqual((changed.body.data as unknown as Record<string, unknown>)['scoring'], { points: 3 });
    await spine.server.head.request('PUT', `/types/${type.name}`, { body: { scoring: null } });
    const off = await spine.server.head.get(`/types/${type.name}`);
    strictEqual(off.body['scoring'], null);
  });

  test('points that nobody can give are refused, and the field is named [TQ-45]', async () => {
    const path = `${ADMIN}/task-types`;
    const tags = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`t${i}`, 1]));
    for (const [scoring, words] of [
      [{ points: -1 }, /scoring\.points/],
      [{ points: 1.5 }, /scoring\.points/],
      [{ perHour: 1e9 }, /scoring\.perHour/],
      [{ tags: { a: 'many' } }, /scoring\.tags/],
      [{ tags }, /scoring\.tags/],
      [{ age: 1 }, /scoring/],
      ['much', /scoring/],
    ] as const) {
      const body = { name: 'scored', label: 'S', scoring };
      expectError(await spine.admin.http.post(path, body), 400, words);
      const native = await spine.server.head.request('PUT', '/types/scored', { body: { scoring } });
      strictEqual(native.status, 400, native.text);
    }
    strictEqual((await spine.server.head.get('/types/scored')).status, 404);
    expectError(await spine.admin.http.post(`${ADMIN}/tasks`, { title: 'x', tags: [''] }), 400, /tags/);
  });
});
