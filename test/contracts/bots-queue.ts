import { operations } from '../http/description.ts';
import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { createHmac } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { httpClient } from '../support/http.ts';
import {
  addTask,
  addType,
  ADMIN,
  type BotServer,
  claim,
  claimed,
  type Enveloped,
  expectData,
  expectError,
  move,
  readTask,
  type StartBots,
  type Task,
  WORKER,
} from './bot-cases.ts';
import { until } from '../support/clock.ts';

const ROUNDS = 100;
const TASKS = 200;
const NOT_YOURS = 'Task not found or not assigned to you';
const SECRET = 'a secret of the tests, 32 characters or more';

/** What no id of a task is, of every kind that JSON has. On PostgreSQL the last ones would break a list of texts. */
const ODD: readonly unknown[] = [
  true,
  -7,
  1.5,
  '',
  '17',
  ' ',
  [],
  ['x'],
  {},
  { a: 1 },
  { toString: 1, valueOf: 1 },
  '{',
  [5, '{"'],
];

/** The queue, claims and who may do what. */
export function botQueueCases(start: StartBots): void {
  suite('queue and claim', () => {
    let spine: BotServer;
    before(async () => {
      spine = await start({ env: { JWT_SECRET: SECRET } }, 10);
    });
    after(() => spine.stop());
    const bot = (n: number) => {
      const found = spine.bots[n - 1];
      if (found === undefined) throw new Error(`there is no W${n}`);
      return found;
    };

    test('a claim finds nothing in an empty queue: data is null [TQ-01 TQ-41 C1]', async () => {
      const answer = await bot(1).http.post(`${WORKER}/tasks/claim`, {});
      strictEqual(answer.status, 200);
      deepStrictEqual(answer.body, { success: true, data: null });
      const older = await bot(1).http.get('/worker/tasks/next');
      deepStrictEqual([older.status, older.text], [204, '']);
    });

    test('of ten claimers at once exactly one gets a task, a hundred times [TQ-01 TQ-02 TQ-42 C2]', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const { id } = await addTask(spine);
        const answers = await Promise.all(spine.bots.map(claim));
        const winners = answers.flatMap((task, i) => (task === null ? [] : [{ task, bot: bot(i + 1) }]));
        const [winner] = winners;
        deepStrictEqual([winners.length, winner?.task.id], [1, id]);
        const task = await readTask(spine, id);
        deepStrictEqual([task.assigned_to, task.status], [winner?.bot.id, 'in_progress']);
        ok(task.started_at !== null);
        ok(winner !== undefined);
        expectData(await move(winner.bot, id, 'completed'));
      }
    });

    test('ten workers share two hundred tasks, each done once [TQ-20 TQ-42 TQ-43 C3]', async () => {
      const made = new Set<string>();
      for (let i = 0; i < TASKS; i++) made.add((await addTask(spine, { title: `Task ${i}` })).id);
      const seen: string[] = [];
      await Promise.all(
        spine.bots.map(async (each) => {
          for (let task = await claim(each); task !== null; task = await claim(each)) {
            seen.push(task.id);
            strictEqual(expectData(await move(each, task.id, 'completed')).status, 'completed');
          }
        }),
      );
      strictEqual(seen.length, TASKS);
      deepStrictEqual(new Set(seen), made);
    });

    test('the more urgent task goes first, of equals the older [TQ-03 C4]', async () => {
      for (const [title, priority] of [
        ['low', 'low'],
        ['medium', 'medium'],
        ['urgent', 'urgent'],
        ['high', 'high'],
        ['urgent2', 'urgent'],
      ])
        await addTask(spine, { title, priority });
      const titles: (string | undefined)[] = [];
      for (let i = 0; i < 5; i++) titles.push((await claim(bot(1)))?.title);
      deepStrictEqual(titles, ['urgent', 'urgent2', 'high', 'medium', 'low']);
    });

    test('tasks that were made together are claimed in the order of their making [TQ-03 C5]', async () => {
      const jobs = Array.from({ length: 50 }, (_, i) => ({ target: 'any', title: `t${i}`, priority: 10 }));
      const answer = await spine.server.head.post('/jobs/batch', { jobs });
      strictEqual(answer.status, 201, answer.text);
      const titles: (string | undefined)[] = [];
      for (let i = 0; i < 50; i++) titles.push((await claim(bot(1)))?.title);
      deepStrictEqual(
        titles,
        jobs.map(({ title }) => title),
      );
    });

    test('a claim never takes what was assigned before, not even for its assignee [TQ-14 C6]', async () => {
      const assigned = await addTask(spine, { title: 'P', priority: 'urgent', assigned_to: bot(2).id });
      deepStrictEqual([assigned.assigned_to, assigned.assigned_to_name], [bot(2).id, 'W2']);
      const free = await addTask(spine, { title: 'Q', priority: 'low' });
      strictEqual((await claim(bot(1)))?.id, free.id);
      strictEqual(await claim(bot(2)), null);
      strictEqual((await readTask(spine, assigned.id)).status, 'pending');
      const own = await bot(2).http.get<Enveloped<Task[]>>(`${WORKER}/tasks?status=pending`);
      deepStrictEqual(
        expectData(own).map(({ id }) => id),
        [assigned.id],
      );
      expectError(await move(bot(1), assigned.id, 'in_progress'), 404, NOT_YOURS);
      const begun = expectData(await move(bot(2), assigned.id, 'in_progress'));
      deepStrictEqual([begun.status, begun.assigned_to], ['in_progress', bot(2).id]);
      ok(begun.started_at !== null);
    });

    test('a claimed task carries its type, params and lineage as they were said [TQ-04 TQ-05 TQ-06 TQ-07 C7]', async () => {
      const type = await addType(spine, { label: 'Reddit Crawl', sop: 'Look at Reddit.' });
      const params = {
        ticker: 'NVDA',
        days: [30, [1, 2.5]],
        big: '9007199254740993',
        text: 'Zoë 👩‍🚀 ünïcode',
      };
      const made = await addTask(spine, { task_type_id: type.id, params, description: 'All of it' });
      const task = await claimed(bot(1));
      deepStrictEqual(
        {
          id: task.id,
          type: task.task_type,
          typeId: task.task_type_id,
          params: task.params,
          retries: task.retry_count,
          parent: task.parent_task_id,
          description: task.description,
          status: task.status,
          to: task.assigned_to,
          by: [task.created_by, task.created_by_name],
        },
        {
          id: made.id,
          type: {
            id: type.id,
            name: type.name,
            label: 'Reddit Crawl',
            sop: 'Look at Reddit.',
            max_retries: 3,
          },
          typeId: type.id,
          params,
          retries: 0,
          parent: null,
          description: 'All of it',
          status: 'in_progress',
          to: bot(1).id,
          by: [spine.admin.id, 'Ada'],
        },
      );
      strictEqual(task.result, null);
      ok(task.started_at !== null && task.completed_at === null);
    });

    test('a call says who may not call, in the words of the text [TQ-13 TQ-41 C8 C10]', async () => {
      const { anyone, url } = spine.server;
      const path = `${WORKER}/tasks/claim`;
      expectError(await anyone.post(path, {}), 401, 'Authorization header required');
      const withHeader = (authorization: string) =>
        anyone.request('POST', path, { body: {}, headers: { authorization } });
      const badFormat = 'Invalid authorization header format. Use: Bearer <token>';
      expectError(await withHeader('Token x'), 401, badFormat);
      const [header = '', payload = '', signature = ''] = bot(1).token.split('.');
      const login = await anyone.post<{ refresh_token: string }>('/auth/login', {
        email: bot(1).email,
        password: 'a password of some length',
      });
      const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
      const foreign = createHmac('sha256', 'x'.repeat(32)).update(`${header}.${payload}`).digest('base64url');
      const said = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
      const past = Buffer.from(JSON.stringify({ ...said, exp: 1_700_000_000 })).toString('base64url');
      const signed = (text: string) => createHmac('sha256', SECRET).update(text).digest('base64url');
      strictEqual(signed(`${header}.${payload}`), signature, 'this is how it is signed');
      for (const token of [
        `${header}.${past}.${signed(`${header}.${past}`)}`,
        `${header}.${payload}.${foreign}`,
        `${none}.${payload}.`,
        `${none}.${payload}.${signature}`,
        login.body.refresh_token,
        'nonsense',
      ])
        expectError(await withHeader(`Bearer ${token}`), 401, 'Invalid or expired token');
      for (const { http } of [spine.user, spine.admin])
        expectError(await http.post(path, {}), 403, 'Not authorized as a worker');
      for (const [method, route] of [
        ['GET', ADMIN],
        ['POST', ADMIN],
        ['DELETE', `${ADMIN}/x`],
        ['GET', `${ADMIN}/task-types`],
        ['POST', `${ADMIN}/task-types`],
        ['PUT', `${ADMIN}/task-types/1`],
        ['DELETE', `${ADMIN}/task-types/1`],
        ['GET', `${ADMIN}/tasks`],
        ['POST', `${ADMIN}/tasks`],
        ['GET', '/admin/workers/tasks/x'],
        ['PUT', `${ADMIN}/tasks/x`],
        ['DELETE', `${ADMIN}/tasks/x`],
        ['GET', `${ADMIN}/tasks/x/data`],
        ['GET', `${ADMIN}/tasks/x/data/file`],
        ['GET', `${ADMIN}/tasks/x/files`],
        ['GET', `${ADMIN}/tasks/x/files/y/download`],
        ['GET', `${ADMIN}/tasks/x/updates`],
        ['POST', `${ADMIN}/tasks/x/updates`],
      ] as const)
        expectError(await bot(1).http.request(method, route), 403, 'Forbidden - admin access required');
      // A native token is no login.
      expectError(
        await httpClient(url, { token: spine.server.tokens.head }).get(ADMIN),
        401,
        'Invalid or expired token',
      );
    });

    test('a worker that was removed may work no more, from its next call on [TQ-13 C9]', async () => {
      const fired = bot(3);
      const removed = await spine.admin.http.request<Enveloped>('DELETE', `${ADMIN}/${fired.id}`);
      deepStrictEqual(removed.body, { success: true, message: 'Worker removed successfully' });
      expectError(await fired.http.post(`${WORKER}/tasks/claim`, {}), 403, 'Not authorized as a worker');
      expectError(await fired.http.get(`${WORKER}/task-types`), 403, 'Not authorized as a worker');
      expectError(await spine.admin.http.request('DELETE', `${ADMIN}/${fired.id}`), 404, 'Worker not found');
      const { body } = await spine.admin.http.get<Enveloped<{ id: string }[]>>(ADMIN);
      ok(!body.data.some(({ id }) => id === fired.id));
    });

    test('lists are filtered by all that is said, and refuse what nobody can mean [TQ-15 C13 C14]', async () => {
      const type = await addType(spine, { max_retries: 0 });
      const of = { task_type_id: type.id };
      const free = [await addTask(spine, of), await addTask(spine, of), await addTask(spine, of)];
      const assigned = await addTask(spine, { ...of, assigned_to: bot(4).id });
      const failing = await addTask(spine, { ...of, priority: 'urgent' });
      strictEqual((await claimed(bot(5))).id, failing.id);
      expectData(await move(bot(5), failing.id, 'failed'));
      const running = await addTask(spine, { ...of, priority: 'urgent' });
      strictEqual((await claimed(bot(4))).id, running.id);
      const list = async (query: string) =>
        expectData(
          await spine.admin.http.get<Enveloped<Task[]>>(`${ADMIN}/tasks?task_type=${type.name}&${query}`),
        ).map(({ id }) => id);
      const newest = free.map(({ id }) => id).toReversed();
      deepStrictEqual(await list('unassigned=true'), newest);
      deepStrictEqual(await list('unassigned=true&limit=1&offset=1'), [newest[1]]);
      deepStrictEqual(await list('status=failed'), [failing.id]);
      deepStrictEqual(await list(`assigned_to=${bot(4).id}`), [running.id, assigned.id]);
      deepStrictEqual(await list(`assigned_to=${bot(4).id}&status=pending`), [assigned.id]);
      deepStrictEqual(await list(`assigned_to=${bot(4).id}&unassigned=true`), []);
      deepStrictEqual(await list('retries=true'), []);
      deepStrictEqual(await list(`assigned_to=${free[0]?.id}`), []);
      deepStrictEqual((await list('')).length, 6);
      deepStrictEqual((await list('')).slice(0, 2), [running.id, failing.id]);
      const again = await addType(spine, { max_retries: 1 });
      const tried = await addTask(spine, { task_type_id: again.id, priority: 'urgent' });
      strictEqual((await claimed(bot(5))).id, tried.id);
      expectData(await move(bot(5), tried.id, 'failed'));
      const retries = async (more: string): Promise<(string | null)[]> =>
        expectData(
          await spine.admin.http.get<Enveloped<Task[]>>(
            `${ADMIN}/tasks?task_type=${again.name}&retries=true${more}`,
          ),
        ).map((task) => task.parent_task_id);
      await until('the retry', async () => (await retries('')).length > 0);
      deepStrictEqual(await retries('&status=pending&unassigned=true'), [tried.id]);
      deepStrictEqual(await retries('&status=failed'), []);
      deepStrictEqual(await retries(`&assigned_to=${bot(5).id}`), []);
      strictEqual((await claimed(bot(5))).parent_task_id, tried.id);
      deepStrictEqual(await retries(`&assigned_to=${bot(5).id}&status=in_progress`), [tried.id]);
      for (const [query, words] of [
        ['status=done', 'Invalid status. Must be one of: pending, in_progress, completed, failed'],
        ['assigned_to=nobody', 'assigned_to must be the id of a worker'],
        ['unassigned=maybe', /^unassigned must be/],
        ['colour=red', /^colour is not a parameter/],
        ['limit=0', /^limit must be/],
      ] as const)
        expectError(await spine.admin.http.get(`${ADMIN}/tasks?${query}`), 400, words);
      expectError(await spine.admin.http.get(`${ADMIN}/tasks/not-a-uuid`), 404, 'Task not found');
      expectError(
        await spine.admin.http.get(`${ADMIN}/tasks/%00`),
        404,
        'There is nothing under that id or name.',
      );
      for (const { id } of free) strictEqual((await claimed(bot(1))).id, id);
    });

    test('whatever other doors put into the meta of a job, it is listed, claimed and done [TQ-01 TQ-40]', async () => {
      const { head } = spine.server;
      const { id: parent } = await addTask(spine, { assigned_to: bot(1).id });
      const metas: unknown[] = [null, true, 0, 'text', ['x'], { parentTaskId: null }];
      for (const said of ODD) metas.push({ parentTaskId: said, retriesCounted: said });
      const made: { readonly id: string; readonly parent: string | null }[] = [];
      for (const meta of metas) {
        const { status, text, body } = await head.post<{ id: string }>('/jobs', { target: 'any', meta });
        strictEqual(status, 201, text);
        made.push({ id: body.id, parent: null });
      }
      for (const said of [...ODD, parent]) {
        const { body } = await head.post<{ id: string }>('/api/tasks', { title: 'Odd' });
        const metadata = { parentTaskId: said, retriesCounted: { job: body.id, count: said } };
        const told = await head.request('PATCH', `/api/tasks/${body.id}`, { body: { metadata } });
        strictEqual(told.status, 200, told.text);
        made.push({ id: body.id, parent: said === parent ? parent : null });
      }
      const listed = expectData(
        await spine.admin.http.get<Enveloped<Task[]>>(`${ADMIN}/tasks?unassigned=true`),
      );
      const seen = new Map(listed.map((task) => [task.id, [task.parent_task_id, task.retry_count]]));
      for (const each of made) {
        const task = await claimed(bot(1));
        deepStrictEqual([task.id, task.parent_task_id, task.retry_count], [each.id, each.parent, 0]);
        deepStrictEqual(seen.get(task.id), [each.parent, 0]);
        expectData(await move(bot(1), task.id, 'completed'));
      }
      expectData(await move(bot(1), parent, 'completed'));
    });

    test('no route of any door looks for a NUL: its query is refused, by name [TQ-40]', async () => {
      const { server, admin } = spine;
      let asked = 0;
      for (const { method, path, parameters = [], 'x-roles': roles = [] } of operations) {
        const queried = parameters.filter((each) => each.in === 'query');
        const native = roles.includes('head') ? server.head : server.left;
        const logged = roles.includes('head') ? admin.http : bot(1).http;
        const caller = path.startsWith('/api/v1/') ? logged : native;
        for (const { name } of queried) {
          const asking = `${path.replaceAll(/{\w+}/g, admin.id)}?${name}=a%00b`;
          const { status, body, text } = await caller.request<{ field?: string }>(method, asking);
          deepStrictEqual([status, body.field], [400, name], `${method} ${asking} answered ${text}`);
          asked += 1;
        }
      }
      ok(asked > 60, `${asked} parameters were tried`);
    });

    test('a task that cannot be is refused, and nothing is made [TQ-09 C15]', async () => {
      const before = expectData(await spine.admin.http.get<Enveloped<Task[]>>(`${ADMIN}/tasks`)).length;
      const priorities = 'Invalid priority. Must be one of: low, medium, high, urgent';
      for (const [body, words] of [
        [{}, 'title is required.'],
        [{ title: 'x'.repeat(501) }, /^title must be/],
        [{ title: 'T', priority: 'asap' }, priorities],
        [{ title: 'T', task_type_id: 999 }, /^task_type_id must be/],
        [{ title: 'T', task_type_id: 'one' }, /^task_type_id must be/],
        [{ title: 'T', assigned_to: spine.user.id }, /^assigned_to must be/],
        [{ title: 'T', assigned_to: 'nobody' }, /^assigned_to must be/],
        [{ title: 'T', parent_task_id: spine.user.id }, /^parent_task_id must be/],
        [{ title: 'T', params: 'ticker' }, /^params must be/],
        [{ title: 'T', description: 7 }, /^description must be/],
      ] as const)
        expectError(await spine.admin.http.post(`${ADMIN}/tasks`, body), 400, words);
      const after = expectData(await spine.admin.http.get<Enveloped<Task[]>>(`${ADMIN}/tasks`)).length;
      strictEqual(after, before);
    });

    test('the same routes are there without the prefix [TQ-40]', async () => {
      const made = expectData(
        await spine.admin.http.post<Enveloped<Task>>('/admin/workers/tasks', { title: 'Short' }),
        201,
      );
      const task = expectData(await bot(1).http.post<Enveloped<Task>>('/worker/tasks/claim'));
      strictEqual(task.id, made.id);
      const heard = await bot(1).http.post('/worker/heartbeat');
      deepStrictEqual(heard.body, { success: true, message: 'Heartbeat received' });
      expectError(await spine.server.anyone.get('/worker/nothing'), 404, 'There is no such path.');
    });
  });
}
