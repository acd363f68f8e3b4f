import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { after, before, suite, test } from 'node:test';
import {
  addTask,
  addType,
  ADMIN,
  type Bot,
  type BotServer,
  claim,
  claimed,
  type Enveloped,
  expectData,
  expectError,
  move,
  put,
  readTask,
  type StartBots,
  type Task,
  type TaskType,
  WORKER,
} from './bot-cases.ts';
import { until } from '../support/clock.ts';

const NOT_YOURS = 'Task not found or not assigned to you';
const NOT_RUNNING = "Can only post results to tasks with status 'in_progress'";

interface Update {
  readonly id: string;
  readonly task_id: string;
  readonly content: string;
  readonly created_by: string;
  readonly created_by_name: string;
}

const report = ({ http }: Bot, id: string, result: unknown) =>
  http.post<Enveloped<Task>>(`${WORKER}/tasks/${id}/result`, { result });

/** What becomes of a task, and what is said of it. */
export function botLifeCases(start: StartBots): void {
  suite('lifecycle, updates and results', () => {
    let spine: BotServer;
    before(async () => {
      spine = await start({}, 6);
    });
    after(() => spine.stop());
    const bot = (n: number): Bot => {
      const found = spine.bots[n - 1];
      if (found === undefined) throw new Error(`there is no W${n}`);
      return found;
    };
    const begun = async (by: Bot, fields: object = {}): Promise<Task> => {
      const { id } = await addTask(spine, fields);
      const task = await claimed(by);
      strictEqual(task.id, id);
      return task;
    };

    test('a result is posted before the end, and stays with it [TQ-10 TQ-17 TQ-19 L1]', async () => {
      const { id } = await begun(bot(1));
      const result = { posts_collected: 847, list: [1, { a: null }] };
      deepStrictEqual(expectData(await report(bot(1), id, 'first')).result, 'first');
      deepStrictEqual(expectData(await report(bot(1), id, result)).result, result);
      const task = expectData(await move(bot(1), id, 'completed'));
      deepStrictEqual([task.status, task.result], ['completed', result]);
      ok(task.completed_at !== null && task.started_at !== null);
      expectError(await report(bot(1), id, 'late'), 400, NOT_RUNNING);
      expectError(await bot(1).http.post(`${WORKER}/tasks/${id}/result`, {}), 400, 'result is required.');
      deepStrictEqual((await readTask(spine, id)).result, result);
      deepStrictEqual(expectData(await move(bot(1), id, 'completed')).completed_at, task.completed_at);
    });

    test('somebody else’s task is not found, whatever is done to it [L2]', async () => {
      const { id } = await begun(bot(1));
      const other = bot(2).http;
      const before = await readTask(spine, id);
      for (const answer of [
        await other.get(`${WORKER}/tasks/${id}`),
        await report(bot(2), id, 'mine'),
        await move(bot(2), id, 'completed'),
        await other.get(`${WORKER}/tasks/${id}/updates`),
        await other.post(`${WORKER}/tasks/${id}/updates`, { content: 'hello' }),
        await other.post(`${WORKER}/tasks/${id}/data`, { data_type: 'x', items: [{ data: 1 }] }),
        await other.get(`${WORKER}/tasks/${id}/data`),
        await other.get(`${WORKER}/tasks/${id}/data/file?key=worker-data/${id}/x/y.json`),
        await other.post(`${WORKER}/tasks/${id}/files`, {
          filename: 'x',
          s3_key: `worker-results/${id}/x`,
        }),
        await move(bot(2), 'nothing', 'completed'),
        await move(bot(2), '00000000-0000-4000-8000-000000000000', 'completed'),
      ])
        expectError(answer, 404, NOT_YOURS);
      deepStrictEqual(await readTask(spine, id), before);
      expectData(await move(bot(1), id, 'completed'));
    });

    test('a status that is none is refused by name [L3]', async () => {
      const { id } = await begun(bot(1));
      const words = 'Invalid status. Must be one of: pending, in_progress, completed, failed';
      expectError(await move(bot(1), id, 'done'), 400, words);
      expectError(await put(bot(1).http, `${WORKER}/tasks/${id}/status`, {}), 400, 'status is required');
      expectError(
        await move(bot(1), id, 'pending', { increment_retry: 'yes' }),
        400,
        /^increment_retry must be/,
      );
      expectData(await move(bot(1), id, 'completed'));
    });

    test('a task that is given back goes to the next worker, an assigned one stays with its own [L4]', async () => {
      const { id } = await begun(bot(1));
      const back = expectData(await move(bot(1), id, 'pending').then((answer) => answer));
      deepStrictEqual(
        [back.status, back.started_at, back.completed_at, back.assigned_to],
        ['pending', null, null, null],
      );
      strictEqual((await claimed(bot(2))).id, id);
      expectError(await move(bot(1), id, 'completed'), 404, NOT_YOURS);
      expectData(await move(bot(2), id, 'completed'));
      const assigned = await addTask(spine, { assigned_to: bot(1).id });
      expectData(await move(bot(1), assigned.id, 'in_progress'));
      const waiting = expectData(await move(bot(1), assigned.id, 'pending'));
      deepStrictEqual([waiting.status, waiting.assigned_to], ['pending', bot(1).id]);
      strictEqual(await claim(bot(2)), null);
      expectData(await move(bot(1), assigned.id, 'completed'));
    });

    test('a job of another door may be given back as often as one of this door [TQ-10 L4]', async () => {
      const { head } = spine.server;
      const { body: job } = await head.post<{ id: string }>('/jobs', { target: 'any', maxAttempts: 1 });
      const { body: card } = await head.post<{ id: string }>('/api/tasks', { title: 'Card' });
      for (const { id } of [job, card]) {
        for (let i = 0; i < 6; i++) {
          strictEqual((await claimed(bot(1))).id, id);
          strictEqual(expectData(await move(bot(1), id, 'pending')).status, 'pending');
        }
        strictEqual((await claimed(bot(2))).id, id);
        expectData(await move(bot(2), id, 'completed'));
      }
    });

    test('a worker that counts its retries by itself is understood [L5]', async () => {
      const type = await addType(spine, { max_retries: 0 });
      const { id } = await begun(bot(1), { task_type_id: type.id });
      strictEqual(expectData(await move(bot(1), id, 'pending', { increment_retry: true })).retry_count, 1);
      strictEqual((await claimed(bot(1))).id, id);
      const failed = expectData(await move(bot(1), id, 'failed', { increment_retry: true }));
      deepStrictEqual([failed.status, failed.retry_count], ['failed', 2]);
      // The chain is as long as its type allows, whatever the worker counts.
      const once = await addType(spine, { max_retries: 1 });
      const first = await begun(bot(1), { task_type_id: once.id });
      expectData(await move(bot(1), first.id, 'failed', { increment_retry: true }));
      const retry = await until('the retry', () => claim(bot(1)));
      deepStrictEqual([retry.parent_task_id, retry.retry_count], [first.id, 1]);
      const last = expectData(await move(bot(1), retry.id, 'failed', { increment_retry: true }));
      deepStrictEqual([last.status, last.retry_count], ['failed', 2]);
      const of = await spine.admin.http.get<Enveloped<Task[]>>(`${ADMIN}/tasks?task_type=${once.name}`);
      strictEqual(expectData(of).length, 2);
      const none = await begun(bot(1));
      const same = expectData(await move(bot(1), none.id, 'in_progress', { increment_retry: true }));
      strictEqual(same.retry_count, 0);
      expectData(await move(bot(1), none.id, 'completed'));
    });

    test('what has ended stays as it is [L6]', async () => {
      const { id } = await begun(bot(1));
      expectData(await report(bot(1), id, { ok: true }));
      const task = expectData(await move(bot(1), id, 'completed'));
      for (const status of ['in_progress', 'pending', 'failed'])
        expectError(await move(bot(1), id, status), 409, /completed/);
      deepStrictEqual(await readTask(spine, id), task);
    });

    test('a failure is told with its reason: of the result, else of the last update [TQ-19]', async () => {
      const type = await addType(spine, { max_retries: 0 });
      const { id } = await begun(bot(1), { task_type_id: type.id });
      expectData(await report(bot(1), id, { error: 'rate limited', pages: 3 }));
      const failed = expectData(await move(bot(1), id, 'failed'));
      deepStrictEqual([failed.status, failed.result], ['failed', { error: 'rate limited', pages: 3 }]);
      const native = await spine.server.head.get<{ state: string; error: unknown }>(`/jobs/${id}`);
      deepStrictEqual([native.body.state, native.body.error], ['dead', 'rate limited']);
      expectError(await move(bot(1), id, 'completed'), 409, /is failed/);
      expectError(await report(bot(1), id, { late: true }), 400, NOT_RUNNING);
      const silent = await begun(bot(1), { task_type_id: type.id });
      expectData(
        await bot(1).http.post<Enveloped>(`${WORKER}/tasks/${silent.id}/updates`, {
          content: 'No such page',
        }),
        201,
      );
      expectData(await move(bot(1), silent.id, 'failed'));
      const reason = await spine.server.head.get<{ error: unknown }>(`/jobs/${silent.id}`);
      strictEqual(reason.body.error, 'No such page');
    });

    test('updates stand in the order in which they came, with names [TQ-08 TQ-16 L7]', async () => {
      const { id } = await begun(bot(1));
      const path = `${WORKER}/tasks/${id}/updates`;
      for (const content of ['one', 'two', 'three']) {
        const update = expectData(await bot(1).http.post<Enveloped<Update>>(path, { content }), 201);
        deepStrictEqual(
          [update.content, update.task_id, update.created_by, update.created_by_name],
          [content, id, bot(1).id, 'W1'],
        );
      }
      const own = await spine.admin.http.post<Enveloped<Update>>(`${ADMIN}/tasks/${id}/updates`, {
        content: 'four',
      });
      strictEqual(expectData(own, 201).created_by_name, 'Ada');
      const list = expectData(await bot(1).http.get<Enveloped<Update[]>>(path));
      deepStrictEqual(
        list.map(({ content }) => content),
        ['one', 'two', 'three', 'four'],
      );
      strictEqual(new Set(list.map((update) => update.id)).size, 4);
      expectError(await bot(1).http.post(path, { content: '' }), 400, /^content must be/);
      expectError(await bot(1).http.post(path, {}), 400, 'content is required.');
      expectError(
        await spine.admin.http.post(`${ADMIN}/tasks/x/updates`, { content: 'x' }),
        404,
        'Task not found',
      );
      expectData(await move(bot(1), id, 'completed'));
    });

    test('a body beyond the limit is refused, and the server goes on [TQ-41 L11]', async () => {
      const { id } = await begun(bot(1));
      const raw = JSON.stringify({ result: 'x'.repeat(5 * 1_048_576) });
      const answer = await bot(1).http.request('POST', `${WORKER}/tasks/${id}/result`, {
        raw,
        headers: { 'content-type': 'application/json' },
      });
      expectError(answer, 413, /larger than the limit/);
      expectData(await move(bot(1), id, 'completed'));
    });

    test('a type that is out of use goes on with its tasks and keeps its name [TQ-05 TQ-09 L12]', async () => {
      const type = await addType(spine, { sop: 'Still true.', max_retries: 1 });
      const { id } = await addTask(spine, { task_type_id: type.id });
      const changed = await put(spine.admin.http, `${ADMIN}/task-types/${type.id}`, { label: 'Renamed' });
      deepStrictEqual(
        [changed.status, (changed.body.data as unknown as { label: string; sop: string }).label],
        [200, 'Renamed'],
      );
      const gone = await spine.admin.http.request<Enveloped>('DELETE', `${ADMIN}/task-types/${type.id}`);
      deepStrictEqual(gone.body, { success: true, message: 'Task type deactivated' });
      for (const path of [`${ADMIN}/task-types`, `${WORKER}/task-types`]) {
        const who = path.startsWith(ADMIN) ? spine.admin : bot(1);
        const types = expectData(await who.http.get<Enveloped<TaskType[]>>(path));
        ok(!types.some((each) => each.id === type.id));
      }
      const task = await claimed(bot(1));
      deepStrictEqual(
        [task.id, task.task_type?.sop, task.task_type?.max_retries, task.task_type?.label],
        [id, 'Still true.', 1, 'Renamed'],
      );
      expectData(await move(bot(1), id, 'completed'));
      const again = await spine.admin.http.post(`${ADMIN}/tasks`, { title: 'T', task_type_id: type.id });
      expectError(again, 400, /^task_type_id must be/);
      const same = await spine.admin.http.post(`${ADMIN}/task-types`, { name: type.name, label: 'Again' });
      expectError(same, 409, /^Failed to create task type. Name may already be in use./);
      for (const [method, path] of [
        ['PUT', `${ADMIN}/task-types/${type.id}`],
        ['DELETE', `${ADMIN}/task-types/${type.id}`],
        ['PUT', `${ADMIN}/task-types/x`],
      ] as const)
        expectError(
          await spine.admin.http.request(method, path, method === 'PUT' ? { body: {} } : {}),
          404,
          'Task type not found',
        );
      expectError(await bot(1).http.get(`${WORKER}/task-types/${type.id}`), 404, 'Task type not found');
      const name = 'Name must be lowercase alphanumeric with underscores only (1-100 chars)';
      expectError(
        await spine.admin.http.post(`${ADMIN}/task-types`, { name: 'No-Good', label: 'x' }),
        400,
        name,
      );
      expectError(
        await spine.admin.http.post(`${ADMIN}/task-types`, { name: 'fine' }),
        400,
        'label is required.',
      );
    });

    test('params that do not fit the schema of the type are refused', async () => {
      const param_schema = {
        type: 'object',
        properties: { ticker: { type: 'string' } },
        required: ['ticker'],
      };
      const type = await addType(spine, { param_schema });
      const bad = { title: 'T', task_type_id: type.id, params: { ticker: 7 } };
      expectError(await spine.admin.http.post(`${ADMIN}/tasks`, bad), 400, /^params does not fit/);
      const { id } = await addTask(spine, { task_type_id: type.id, params: { ticker: 'NVDA' } });
      strictEqual((await claimed(bot(1))).id, id);
      expectData(await move(bot(1), id, 'completed'));
    });

    test('an admin says anew what is asked for, and what is left out stays [TQ-09]', async () => {
      const schema = { type: 'object', required: ['ticker'], properties: { ticker: { type: 'string' } } };
      const type = await addType(spine, { max_retries: 0, param_schema: schema });
      const task = await addTask(spine, { description: 'Before', priority: 'low' });
      const change = (body: object) => put(spine.admin.http, `${ADMIN}/tasks/${task.id}`, body);
      const same = expectData(await change({ title: null, params: null }));
      deepStrictEqual([same.title, same.description, same.priority], ['Crawl', 'Before', 'low']);
      for (const [body, words] of [
        [{ task_type_id: type.id }, /^params does not fit/],
        [{ task_type_id: type.id, params: { ticker: 1 } }, /^params does not fit/],
        [{ task_type_id: 999 }, /^task_type_id must be/],
        [{ assigned_to: spine.user.id }, /^assigned_to must be/],
        [{ priority: 'soon' }, /^Invalid priority/],
        [{ status: 'done' }, /^Invalid status/],
        [{ status: 'in_progress' }, /^assigned_to must say/],
        [{ title: '' }, /^title must be/],
      ] as const)
        expectError(await change(body), 400, words);
      const changed = expectData(
        await change({
          title: 'Crawl TSLA',
          params: { ticker: 'TSLA' },
          task_type_id: type.id,
          priority: 'urgent',
          assigned_to: bot(2).id,
        }),
      );
      deepStrictEqual(
        [changed.title, changed.params, changed.task_type?.name, changed.priority, changed.assigned_to],
        ['Crawl TSLA', { ticker: 'TSLA' }, type.name, 'urgent', bot(2).id],
      );
      strictEqual(changed.description, 'Before');
      strictEqual(await claim(bot(1)), null);
      const found = await spine.server.head.get<{ jobs: { id: string }[] }>('/jobs?q=TSLA');
      deepStrictEqual(
        found.body.jobs.map(({ id }) => id),
        [task.id],
      );
      const begun = expectData(await change({ status: 'in_progress' }));
      deepStrictEqual([begun.status, begun.assigned_to], ['in_progress', bot(2).id]);
      expectError(
        await change({ assigned_to: bot(3).id }),
        409,
        /^The job is held, and its holder works by what it was given/,
      );
      const moved = expectData(await change({ assigned_to: bot(3).id, status: 'pending' }));
      deepStrictEqual([moved.status, moved.assigned_to, moved.started_at], ['pending', bot(3).id, null]);
      strictEqual(expectData(await change({ status: 'completed' })).status, 'completed');
      const again = expectData(await change({ status: 'pending' }));
      deepStrictEqual([again.status, again.completed_at], ['pending', null]);
      strictEqual(expectData(await change({ status: 'failed' })).status, 'failed');
      const unwanted = await addTask(spine);
      const failed = await put(spine.admin.http, `${ADMIN}/tasks/${unwanted.id}`, { status: 'failed' });
      strictEqual(expectData(failed).status, 'failed');
      expectError(await put(spine.admin.http, `${ADMIN}/tasks/x`, {}), 404, 'Task not found');
    });

    test('a task is removed with all that hangs on it, and what continues it goes on [TQ-21]', async () => {
      const parent = await addTask(spine);
      const child = await addTask(spine, { parent_task_id: parent.id, assigned_to: bot(3).id });
      strictEqual(child.parent_task_id, parent.id);
      strictEqual((await claimed(bot(1))).id, parent.id);
      await bot(1).http.post(`${WORKER}/tasks/${parent.id}/updates`, { content: 'Half-way' });
      const path = `${ADMIN}/tasks/${parent.id}`;
      const gone = await spine.admin.http.request<Enveloped>('DELETE', path);
      deepStrictEqual(gone.body, { success: true, message: 'Task deleted successfully' });
      for (const answer of [
        await spine.admin.http.get(path),
        await spine.admin.http.get(`${path}/updates`),
        await spine.admin.http.request('DELETE', path),
      ])
        expectError(answer, 404, 'Task not found');
      expectError(await move(bot(1), parent.id, 'completed'), 404, NOT_YOURS);
      strictEqual((await readTask(spine, child.id)).parent_task_id, null);
      expectData(await move(bot(3), child.id, 'completed'));
      const retried = await spine.server.head.post<{ id: string }>('/jobs', {
        target: 'any',
        retry: { mode: 'lineage', max: 1 },
      });
      strictEqual((await claimed(bot(1))).id, retried.body.id);
      expectData(await move(bot(1), retried.body.id, 'failed'));
      const retry = await until('the retry', () => claim(bot(1)));
      deepStrictEqual([retry.parent_task_id, retry.retry_count], [retried.body.id, 1]);
      await spine.admin.http.request('DELETE', `${ADMIN}/tasks/${retried.body.id}`);
      strictEqual((await readTask(spine, retry.id)).parent_task_id, null);
      expectData(await move(bot(1), retry.id, 'completed'));
    });

    test('every call of a worker shows that it is there, and no call of an admin [TQ-12 L13]', async () => {
      interface Listed {
        readonly id: string;
        readonly is_online: boolean;
        readonly last_activity_at: string | null;
        readonly task_count: number;
        readonly completed_today: number;
        readonly current_task: { readonly id: string; readonly title: string } | null;
      }
      const listed = async (id: string): Promise<Listed> => {
        const all = expectData(await spine.admin.http.get<Enveloped<Listed[]>>(ADMIN));
        const found = all.find((each) => each.id === id);
        ok(found, 'the worker is listed');
        return found;
      };
      const silent = await listed(bot(6).id);
      deepStrictEqual([silent.is_online, silent.last_activity_at, silent.task_count], [false, null, 0]);
      await bot(6).http.get(`${WORKER}/tasks`);
      const heard = await listed(bot(6).id);
      ok(heard.is_online && heard.last_activity_at !== null);
      await addTask(spine, { assigned_to: bot(6).id });
      const { id } = await begun(bot(6), { title: 'Now' });
      const busy = await listed(bot(6).id);
      deepStrictEqual(
        [busy.task_count, busy.current_task?.id, busy.current_task?.title, busy.completed_today],
        [2, id, 'Now', 0],
      );
      expectData(await move(bot(6), id, 'completed'));
      const done = await listed(bot(6).id);
      deepStrictEqual([done.task_count, done.current_task, done.completed_today], [2, null, 1]);
      ok((done.last_activity_at ?? '') >= (heard.last_activity_at ?? ''));
      const taken = await spine.admin.http.post(ADMIN, {
        email: bot(6).email.toUpperCase(),
        password: 'another password',
        full_name: 'Twin',
      });
      expectError(taken, 409, 'Failed to create worker. Email may already be in use.');
      expectError(await spine.admin.http.post(ADMIN, { email: 'x@y.z' }), 400, /is required/);
    });
  });
}
