import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { suite, test, type TestContext } from 'node:test';
import { callLimitsOf } from '../../src/app/call-limits.ts';
import { loadConfig } from '../../src/config.ts';
import { type HttpClient, httpClient } from '../support/http.ts';
import { openServer } from './server.ts';

interface Task {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly lane: string;
  readonly owner: string | null;
  readonly priority: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly blockedBy: readonly string[];
  readonly metadata: Record<string, unknown>;
  readonly statusHistory: readonly { at: number; from: string | null; to: string; note: string | null }[];
}

/** A server that lets programs of this machine in without a token, as the text's own clients expect. */
async function openBridge(t: TestContext) {
  const spine = await openServer(t, () => ({ letsNeighboursIn: true }));
  return { ...spine, make: (task: object) => made(spine.anyone, task) };
}

function patch(client: HttpClient, path: string, body: object) {
  return client.request<Task & Record<string, unknown>>('PATCH', path, { body });
}

function put(client: HttpClient, path: string, body: object) {
  return client.request<Task>('PUT', path, { body });
}

async function made(client: HttpClient, task: object): Promise<Task> {
  const { status, body } = await client.post<Task>('/api/tasks', task);
  strictEqual(status, 200, JSON.stringify(body));
  return body;
}

suite('tasks at the bridge', () => {
  test('the end of a task is never refused for what else its worker sends', async (t) => {
    const env = { SPINE_WORKER_CALLS_PER_SECOND: '5' };
    const { head, left } = await openServer(t, () => ({ callLimits: callLimitsOf(loadConfig(env)) }));
    const tasks = [];
    for (const status of ['done', 'review', 'blocked', 'todo'] as const) {
      const { id } = await made(head, { title: 'Paint', owner: 'left-claw' });
      strictEqual((await patch(left, `/api/tasks/${id}`, { status: 'in-progress' })).status, 200);
      tasks.push({ id, status });
    }
    const [{ id } = { id: '' }] = tasks;
    let notes = 0;
    while (notes < 100 && (await patch(left, `/api/tasks/${id}`, { note: 'more' })).status === 200) notes++;
    ok(notes < 20, `${notes} notes`);
    for (const { id: task, status } of tasks)
      strictEqual((await patch(left, `/api/tasks/${task}`, { status })).status, 200, status);
  });

  test('a task has the fields of the text, times are milliseconds [WK-09 WK-35]', async (t) => {
    const { anyone, make } = await openBridge(t);
    const task = await make({
      title: 'Paint',
      owner: 'slot-1',
      priority: 5,
      description: 'The shed',
      instructions: 'Use green.',
      deliverables: 'A green shed',
      steps: ['sand', 'paint'],
      workingDir: '/tmp',
      model: 'm',
      timeoutMs: 3_000,
      metadata: { a: 1 },
      colour: 'green',
    });
    const { body } = await anyone.get<Task[]>('/api/tasks');
    const { statusHistory, ...listed } = task;
    deepStrictEqual(body, [listed]);
    deepStrictEqual(
      [task.status, task.lane, task.owner, task.priority, task.metadata],
      ['todo', 'queued', 'slot-1', 5, { colour: 'green', a: 1 }],
    );
    ok(Number.isInteger(task.createdAt) && Number.isInteger(task.updatedAt));
    deepStrictEqual(
      statusHistory.map(({ from, to }) => [from, to]),
      [[null, 'todo']],
    );
    deepStrictEqual((await anyone.get(`/api/tasks/${task.id}`)).body, task);
  });

  test('both vocabularies are understood and shown [WK-09 WK-11 WK-42]', async (t) => {
    const { anyone, make } = await openBridge(t);
    const task = await make({
      title: 'Lanes',
      lane: 'queued',
      priority: 'P0',
      assignee: 'slot-2',
      problem: 'It leaks',
      scope: ['the roof'],
      acceptanceCriteria: ['dry', 'tested'],
    });
    const shown = task as unknown as Record<string, unknown>;
    deepStrictEqual(
      [task.priority, task.owner, shown['description'], shown['instructions'], shown['deliverables']],
      [30, 'slot-2', 'It leaks', '- the roof', '- dry\n- tested'],
    );
    const moved = await put(anyone, `/api/tasks/${task.id}`, { lane: 'development' });
    deepStrictEqual([moved.body.status, moved.body.lane], ['in-progress', 'development']);
    const listed = await anyone.get<Task[]>('/api/tasks?lane=development&assignee=slot-2');
    deepStrictEqual(
      listed.body.map(({ id }) => id),
      [task.id],
    );
    const other = await anyone.get<Task[]>('/api/tasks?status=todo');
    deepStrictEqual(other.body, []);
  });

  test('status and metadata change together, and the history says so [WK-12 WK-24 WK-35]', async (t) => {
    const { anyone, make } = await openBridge(t);
    const task = await make({ title: 'Both', metadata: { keep: 1 } });
    const path = `/api/tasks/${task.id}`;
    // So that the clock has moved on.
    while (Date.now() <= task.updatedAt);
    const { body } = await patch(anyone, path, { status: 'in-progress', metadata: { who: 'me' } });
    deepStrictEqual([body.status, body.metadata], ['in-progress', { keep: 1, who: 'me' }]);
    ok(body.updatedAt > task.updatedAt);
    const why = { errorReason: 'It rained', failedAt: 1, sessionId: 's' };
    const blocked = await patch(anyone, path, { status: 'blocked', metadata: why });
    strictEqual(blocked.body.status, 'blocked');
    strictEqual(blocked.body.metadata['errorReason'], 'It rained');
    deepStrictEqual([blocked.body.metadata['sessionId'], blocked.body.metadata['failedAt']], ['s', 1]);
    deepStrictEqual(
      blocked.body.statusHistory.map(({ from, to, note }) => [from, to, note]),
      [
        [null, 'todo', null],
        ['todo', 'in-progress', null],
        ['in-progress', 'blocked', 'It rained'],
      ],
    );
  });

  test('a card that nobody holds is blocked with its reason and time, and a later failure has its own [WK-24]', async (t) => {
    const { anyone, make } = await openBridge(t);
    const task = await make({ title: 'Waits' });
    const path = `/api/tasks/${task.id}`;
    const why = { errorReason: 'No paint', failedAt: 7, sessionId: 's' };
    const { body } = await patch(anyone, path, { status: 'blocked', metadata: why });
    deepStrictEqual([body.status, body.metadata], ['blocked', why]);
    for (const status of ['todo', 'in-progress']) await patch(anyone, path, { status });
    const again = await patch(anyone, path, { status: 'blocked', note: 'It rained' });
    const { errorReason, failedAt } = again.body.metadata;
    strictEqual(errorReason, 'It rained');
    ok(Number(failedAt) >= task.createdAt, `failedAt ${String(failedAt)}`);
  });

  test('an unknown task is 404, an unknown status 400, and nothing changes [WK-35]', async (t) => {
    const { anyone, make } = await openBridge(t);
    const task = await make({ title: 'Same' });
    const path = `/api/tasks/${task.id}`;
    strictEqual((await patch(anyone, '/api/tasks/nothing', { status: 'done' })).status, 404);
    for (const [body, field] of [
      [{ status: 'finished' }, 'status'],
      [{ status: 'done', lane: 'blocked' }, 'lane'],
      [{ title: 'Another' }, 'title'],
      [{ owner: 'slot-9' }, 'owner'],
      [{ metadata: 7 }, 'metadata'],
      [{ metadata: { a: 'x'.repeat(20_000) } }, 'metadata'],
    ] as const) {
      const answer = await patch(anyone, path, body);
      deepStrictEqual([answer.status, answer.body['field']], [400, field], JSON.stringify(body).slice(0, 80));
    }
    const { statusHistory: _, ...whole } = task;
    strictEqual((await put(anyone, path, whole)).status, 200);
    const now = await anyone.get<Task>(path);
    deepStrictEqual([now.body.status, now.body.title], ['todo', 'Same']);
  });

  test('of 20 literal clients that list, filter and PATCH one gets each task [WK-10 WK-12]', async (t) => {
    const { url, make, anyone } = await openBridge(t);
    for (let i = 0; i < 10; i++) await make({ title: `Task ${i}`, owner: 'slot-1', priority: i % 3 });
    await make({ title: 'Not theirs', owner: 'slot-2' });
    const clients = Array.from({ length: 20 }, () => httpClient(url));
    const won = await Promise.all(clients.map(literalWorker));
    for (const client of clients) client.close();
    const all = won.flat();
    strictEqual(all.length, 10);
    strictEqual(new Set(all).size, 10);
    const { body } = await anyone.get<Task[]>('/api/tasks');
    deepStrictEqual(
      body.filter(({ status }) => status !== 'done').map(({ title }) => title),
      ['Not theirs'],
    );
  });

  test('review is done until somebody has looked at it [WK-21]', async (t) => {
    const { anyone, head, make } = await openBridge(t);
    const { id } = await make({ title: 'Look', status: 'in-progress' });
    strictEqual((await patch(anyone, `/api/tasks/${id}`, { status: 'review' })).body.status, 'review');
    const native = await head.get(`/jobs/${id}`);
    deepStrictEqual([native.body['status'], native.body['review']], ['done', 'pending']);
    const inReview = await anyone.get<Task[]>('/api/tasks?status=review');
    const done = await anyone.get<Task[]>('/api/tasks?status=done');
    deepStrictEqual([inReview.body.length, done.body.length], [1, 0]);
    strictEqual((await patch(anyone, `/api/tasks/${id}`, { status: 'done' })).body.status, 'done');
  });

  test('a task that is blocked by others shows them, and waits [WK-41]', async (t) => {
    const { anyone, make } = await openBridge(t);
    const first = await make({ title: 'First' });
    const second = await make({ title: 'Second', blockedBy: [first.id] });
    deepStrictEqual([second.blockedBy, second.status], [[first.id], 'todo']);
    const taken = await patch(anyone, `/api/tasks/${second.id}`, { status: 'in-progress' });
    deepStrictEqual([taken.status, taken.body['error']], [409, 'not_ready']);
    const wrong = await anyone.post('/api/tasks', { title: 'x', blockedBy: ['nobody'] });
    deepStrictEqual([wrong.status, wrong.body['field']], [400, 'blockedBy']);
  });
});

/** As the text's worker does it: list, filter, take the best, PATCH; what is refused is somebody else's. */
async function literalWorker(client: HttpClient): Promise<string[]> {
  const won: string[] = [];
  for (;;) {
    const { body } = await client.get<Task[]>('/api/tasks');
    const [mine] = body
      .filter((task) => task.owner === 'slot-1' && task.status === 'todo')
      .toSorted((a, b) => b.priority - a.priority || a.createdAt - b.createdAt);
    if (mine === undefined) return won;
    const { status } = await patch(client, `/api/tasks/${mine.id}`, { status: 'in-progress' });
    ok(status === 200 || status === 409, String(status));
    if (status !== 200) continue;
    won.push(mine.id);
    strictEqual((await patch(client, `/api/tasks/${mine.id}`, { status: 'done' })).status, 200);
  }
}

suite('who may call the bridge', () => {
  test('without a token only programs of this machine, and only when the operator wants it [WK-35]', async (t) => {
    const closed = await openServer(t);
    strictEqual((await closed.anyone.get('/api/tasks')).status, 401);
    strictEqual((await closed.head.get('/api/tasks')).status, 200);
    const { body: me } = await closed.head.get<{ may: string[] }>('/me');
    ok(me.may.includes('listTasks'), 'whoever has a token is told that it opens this door, too');
    const { anyone } = await openBridge(t);
    strictEqual((await anyone.get('/api/tasks')).status, 200);
    for (const headers of [
      { host: 'spine.lan' },
      { 'x-forwarded-for': '10.0.0.9' },
      { via: '1.1 proxy' },
      { authorization: 'Bearer wrong' },
    ])
      strictEqual((await anyone.get('/api/tasks', { headers })).status, 401, JSON.stringify(headers));
    strictEqual((await anyone.get('/api/tasks', { headers: { host: 'evil.test' } })).status, 421);
    const foreign = { headers: { origin: 'http://evil.test' } };
    strictEqual((await anyone.get('/api/tasks', foreign)).status, 403);
    // The other doors stay closed.
    strictEqual((await anyone.get('/jobs')).status, 401);
  });

  test('a page of an origin that may call needs a token, in a browser of this machine as well [WK-35]', async (t) => {
    const origin = 'https://board.example';
    const { anyone, url } = await openServer(t, () => ({
      letsNeighboursIn: true,
      allowedOrigins: [origin],
    }));
    for (const headers of [
      { origin },
      { origin, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    ]) {
      strictEqual((await anyone.get('/api/tasks', { headers })).status, 401, JSON.stringify(headers));
      const { status } = await anyone.request('POST', '/api/tasks', { headers, body: { title: 'x' } });
      ok(status === 401 || status === 403, JSON.stringify(headers));
    }
    for (const headers of [{ origin: url, 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }])
      deepStrictEqual((await anyone.get('/api/tasks', { headers })).body, []);
  });

  test('a worker moves what is addressed to it and nothing else [WK-35]', async (t) => {
    const { left, make } = await openBridge(t);
    const mine = await make({ title: 'Mine', owner: 'left-claw' });
    const other = await make({ title: 'Other', owner: 'right-claw' });
    strictEqual((await patch(left, `/api/tasks/${mine.id}`, { status: 'in-progress' })).status, 200);
    strictEqual((await patch(left, `/api/tasks/${mine.id}`, { status: 'done' })).status, 200);
    strictEqual((await patch(left, `/api/tasks/${other.id}`, { status: 'in-progress' })).status, 403);
    const { body } = await left.get<Task[]>('/api/tasks');
    deepStrictEqual(
      body.map(({ title }) => title),
      ['Mine'],
    );
  });

  test('the agent of a run ends its own task by its lease [WK-21]', async (t) => {
    const { head, left, url } = await openBridge(t);
    const { body: job } = await head.post('/jobs', { target: 'left-claw', title: 'Run' });
    const { body } = await left.post<{ jobs: { leaseToken: string }[] }>('/jobs/claim', {});
    const agent = httpClient(url, { token: `run.${String(job['id'])}.${body.jobs[0]?.leaseToken}` });
    const path = `/api/tasks/${String(job['id'])}`;
    strictEqual((await patch(agent, path, { status: 'review' })).body.status, 'review');
    agent.close();
  });
});

suite('heartbeats and the picture of what goes on', () => {
  test('a worker takes its slot, is heard from, is drained and forgotten [WK-02 WK-03 WK-37 WK-39]', async (t) => {
    const { head, left, right, anyone } = await openBridge(t);
    const start = { slot: 'left-claw', instance: 'a', metadata: { workerPid: 7, workerVersion: '1.0.0' } };
    const started = await left.post('/api/heartbeats/start', start);
    deepStrictEqual([started.status, started.body['staleMs']], [200, 90_000]);
    strictEqual((await left.post('/api/heartbeats/start', { ...start, instance: 'b' })).status, 409);
    strictEqual((await left.post('/api/heartbeats/start', { ...start, slot: 'slot-7' })).status, 403);
    const { body: job } = await head.post('/jobs', { target: 'left-claw', title: 'Run' });
    strictEqual((await left.post('/jobs/claim', {})).status, 200);
    const beat = {
      slot: 'left-claw',
      instance: 'a',
      status: 'working',
      task: String(job['id']),
      attempt: 1,
      sessionId: 's',
    };
    strictEqual((await left.post('/api/heartbeats', beat)).status, 200);
    const { body } = await anyone.get<{ workers: Record<string, Record<string, unknown>> }>(
      '/api/heartbeats',
    );
    const { lastUpdate, startedAt, ...rest } = body.workers['left-claw'] ?? {};
    ok(Number.isInteger(lastUpdate) && Number.isInteger(startedAt));
    deepStrictEqual(rest, {
      slot: 'left-claw',
      status: 'working',
      task: job['id'],
      taskTitle: null,
      sessionId: 's',
      metadata: { workerPid: 7, workerVersion: '1.0.0', restartCount: 0 },
    });
    const seenBy = async (client: HttpClient) => [
      Object.keys((await client.get<{ workers: object }>('/api/heartbeats')).body.workers),
      (await client.get<{ workers: { slot: string }[] }>('/api/live')).body.workers.map(({ slot }) => slot),
    ];
    deepStrictEqual(await seenBy(left), [['left-claw'], ['left-claw']]);
    deepStrictEqual(await seenBy(right), [[], []]);
    const metrics = (await head.get('/metrics')).text;
    for (const line of ['up', 'working'])
      match(metrics, new RegExp(`^spine_worker_${line}\\{slot="left-claw"\\} 1$`, 'm'));
    match(metrics, /^spine_worker_restarts_total\{slot="left-claw"\} 0$/m);
    match(metrics, /^spine_worker_heartbeat_age_seconds\{slot="left-claw"\} [\d.]+$/m);
    await head.post('/api/heartbeats/left-claw/drain', {});
    const drained = await left.post<{ metadata: object }>('/api/heartbeats', { ...beat, status: 'idle' });
    deepStrictEqual(drained.body.metadata, { ...(rest['metadata'] as object), draining: true });
    strictEqual((await head.request('DELETE', '/api/heartbeats/left-claw')).status, 409);
    await left.post('/api/heartbeats', { ...beat, status: 'offline' });
    strictEqual((await head.request('DELETE', '/api/heartbeats/left-claw')).status, 200);
  });

  test('the live picture names what is blocked and what to do [WK-39]', async (t) => {
    const { anyone, make } = await openBridge(t);
    strictEqual((await anyone.get('/api/live')).body['status'], 'ok');
    const { id } = await make({ title: 'Stuck', status: 'blocked', note: 'no paint' });
    const { body } = await anyone.get<{ status: string; blockers: Record<string, unknown>[] }>('/api/live');
    strictEqual(body.status, 'attention');
    deepStrictEqual([body.blockers[0]?.['id'], body.blockers[0]?.['details']], [id, 'no paint']);
    match(JSON.stringify(body.blockers[0]?.['remediation']), /spine jobs retry/);
    const errorReason = { toString: 1, valueOf: 1 };
    await make({ title: 'Odd', status: 'in-progress' }).then(({ id: odd }) =>
      patch(anyone, `/api/tasks/${odd}`, { status: 'blocked', metadata: { errorReason } }),
    );
    const { blockers } = (await anyone.get<{ blockers: { title: string; details: string }[] }>('/api/live'))
      .body;
    strictEqual(blockers.find(({ title }) => title === 'Odd')?.details, JSON.stringify(errorReason));
  });

  test('a server that runs no sessions says what to set [WK-14 WK-36]', async (t) => {
    const { anyone } = await openBridge(t);
    const answer = await anyone.post('/api/sessions/spawn', { sessionLabel: 'a', prompt: 'Hello' });
    strictEqual(answer.status, 409);
    match(String(answer.body['message']), /SPINE_SESSION_RUNNER/);
    deepStrictEqual((await anyone.get('/api/sessions')).body, []);
    strictEqual((await anyone.request('DELETE', '/api/sessions/a')).status, 404);
  });
});
