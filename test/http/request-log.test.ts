import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { suite, test, type TestContext } from 'node:test';
import { openServer } from './server.ts';

type Facts = Readonly<Record<string, unknown>>;
type Spine = Awaited<ReturnType<typeof openServer>>;

interface ToolAnswer {
  readonly result: { readonly content: readonly [{ readonly text: string }] };
}

/** A server that tells of each request, and what it has told of them. */
async function talkative(t: TestContext): Promise<Spine & { lines: Facts[]; last: () => Facts }> {
  const lines: Facts[] = [];
  const spine = await openServer(t, ({ log }) => ({
    log: { ...log, debug: (_message, facts) => void lines.push(facts) },
  }));
  return { ...spine, lines, last: () => lines.at(-1) ?? {} };
}

/** Each look at its clock takes 11 ms, and calls that take longer than 10 are slow. */
async function slow(t: TestContext): Promise<Spine & { slowRoutes: () => unknown[] }> {
  const now = { ms: 0 };
  const spine = await openServer(t, () => ({ slowMs: 10, monoMs: () => (now.ms += 11) }));
  return {
    ...spine,
    slowRoutes: () =>
      spine.logged
        .splice(0)
        .filter(({ message }) => message === 'A call was slow')
        .map(({ facts }) => facts['route']),
  };
}

function toolCall(name: string, given: object): object {
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } };
}

suite('what the log is told of requests', () => {
  test('slow calls by their route, and never what callers wrote [WK-39]', async (t) => {
    const { head, logged } = await slow(t);
    await head.get('/stats?x=secret-query');
    await head.get('/jobs/secret-id-secret-id');
    await head.get('/stats');
    ok(!JSON.stringify(logged).includes('secret'));
    const told = logged.filter(({ message }) => message === 'A call was slow');
    const { requestId, ...facts } = told.at(-1)?.facts ?? {};
    match(String(requestId), /^\w+-\w+$/);
    strictEqual(JSON.stringify(facts), '{"by":"head","method":"GET","route":"/stats","status":200,"ms":11}');
  });

  test('what has waited as it was asked to is not slow, and the same route without a wait is [WK-39]', async (t) => {
    const { head, left, slowRoutes } = await slow(t);
    const { body } = await head.post<{ id: string }>('/jobs', {});
    slowRoutes();
    await head.get(`/jobs/${body.id}`);
    deepStrictEqual(slowRoutes(), ['/jobs/:id']);
    await head.get(`/jobs/${body.id}?wait=1ms`);
    deepStrictEqual(slowRoutes(), []);
    await left.post('/jobs/claim', { types: ['none-such'] });
    deepStrictEqual(slowRoutes(), ['/jobs/claim']);
    await left.post('/jobs/claim', { types: ['none-such'], waitMs: 1 });
    deepStrictEqual(slowRoutes(), []);
    await head.post('/mcp', toolCall('get_job', { id: body.id }));
    deepStrictEqual(slowRoutes(), ['/mcp']);
    await head.post('/mcp', toolCall('wait_for_job', { id: body.id, wait: '1ms' }));
    deepStrictEqual(slowRoutes(), []);
  });

  test('refusals that an operator may want to know of, and no others', async (t) => {
    const { head, left, anyone, logged } = await openServer(t);
    await anyone.get('/jobs', { headers: { authorization: 'Bearer secret-token-of-somebody' } });
    await head.get('/jobs/none-such');
    await head.post('/jobs', { bad: 1 });
    await left.request('PUT', '/types/x', { body: {} });
    deepStrictEqual(
      logged.map(({ facts }) => facts['refusal']),
      ['unauthorized', 'wrong_role'],
    );
    ok(!JSON.stringify(logged).includes('secret'));
  });

  test('each request, where somebody wants to read of each, and the job that it was about [WK-39]', async (t) => {
    const { head, left, lines, last } = await talkative(t);
    const { body } = await head.post<{ id: string; no: number }>('/jobs', { spec: 'secret' });
    deepStrictEqual([last()['route'], last()['job']], ['/jobs', body.id]);
    await head.get(`/jobs/${body.no}`);
    deepStrictEqual([last()['route'], last()['job'], last()['id']], ['/jobs/:id', body.id, undefined]);
    const { body: claim } = await left.post<{ jobs: { leaseToken: string }[] }>('/jobs/claim', {});
    strictEqual(last()['job'], body.id);
    const { leaseToken } = claim.jobs[0] ?? {};
    await head.post('/jobs', {});
    const second = last()['job'];
    await left.post(`/jobs/${body.id}/complete`, { leaseToken, next: {} });
    deepStrictEqual(last()['job'], [body.id, second], 'the one that ended, and the next');
    await left.post(`/jobs/${body.id}/heartbeat`, { leaseToken });
    deepStrictEqual([last()['refusal'], last()['job']], ['lease_lost', body.id]);
    await head.get('/jobs/none-such-of-this-name');
    strictEqual(last()['job'], undefined);
    ok(!JSON.stringify(lines).includes('secret'));
    ok(!JSON.stringify(lines).includes('none-such'));
  });

  test('of many jobs the first ten, and how many there were [WK-39]', async (t) => {
    const { head, left, last } = await talkative(t);
    const jobs = Array.from({ length: 12 }, () => ({}));
    const { body } = await head.post<{ jobs: { id: string }[] }>('/jobs/batch', { jobs });
    const ids = body.jobs.map(({ id }) => id);
    deepStrictEqual([last()['job'], last()['jobs']], [ids.slice(0, 10), 12]);
    const claim = { max: 12 };
    const { body: held } = await left.post<{ jobs: { id: string; leaseToken: string }[] }>(
      '/jobs/claim',
      claim,
    );
    deepStrictEqual([last()['job'], last()['jobs']], [ids.slice(0, 10), 12]);
    const ended = held.jobs.slice(0, 3).map(({ id, leaseToken }) => ({ id, leaseToken }));
    await left.post('/jobs/complete-batch', { jobs: ended });
    deepStrictEqual([last()['job'], last()['jobs']], [ids.slice(0, 3), undefined]);
  });

  test('the job of a tool, of a task and of a run of a schedule, too', async (t) => {
    const { head, last } = await talkative(t);
    const made = await head.post<ToolAnswer>('/mcp', toolCall('create_job', { spec: 'secret' }));
    const { id } = JSON.parse(made.body.result.content[0].text) as { id: string };
    deepStrictEqual([last()['route'], last()['job']], ['/mcp', id]);
    await head.post('/mcp', toolCall('get_job', { id }));
    strictEqual(last()['job'], id);
    const task = await head.post<{ id: string }>('/api/tasks', { title: 'A task' });
    deepStrictEqual([last()['route'], last()['job']], ['/api/tasks', task.body.id]);
    const schedule = { name: 'nightly', schedule: '0 3 * * *', session_target: 'queue', target: 'ops' };
    const nightly = await head.post<{ id: string }>('/schedules', schedule);
    const run = await head.post<{ run_id: string }>(`/schedules/${nightly.body.id}/run`);
    deepStrictEqual([run.status, last()['job']], [202, run.body.run_id]);
  });
});
