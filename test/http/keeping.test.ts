import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { httpClient } from '../support/http.ts';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

type Body = Record<string, unknown>;
const NIGHT = { name: 'night', schedule: '0 2 * * *', session_target: 'queue', target: 'ops' };

test('a schedule is put by its name: made once, changed when it differs, else left alone', async () => {
  const put = async (body: Body) => (await server.head.request<Body>('PUT', '/schedules', { body })).body;
  const made = await put(NIGHT);
  assert.equal(made['action'], 'create');
  assert.equal((await put(NIGHT))['action'], 'unchanged');
  const changed = await put({ ...NIGHT, priority: 3 });
  assert.deepEqual([changed['action'], changed['id'], changed['priority']], ['change', made['id'], 3]);
  const child = await put({ name: 'child', parent: 'night', trigger_on: 'success', session_target: 'queue' });
  assert.equal(child['rule'], 'After “night” succeeds');
  const { status, body } = await server.head.request<Body>('PUT', '/schedules', {
    body: { ...NIGHT, schedule: 'soon' },
  });
  assert.deepEqual([status, body['field']], [400, 'schedule_cron']);
});

test('a rule that is none yet is shown to viewers too, and no more of its ticks than a page', async () => {
  const preview = (body: Body, query = '') => server.head.post<Body>(`/schedules/preview${query}`, body);
  const rare = await preview({ schedule: '0 0 29 2 1', timezone: 'Asia/Kolkata' }, '?n=100');
  assert.equal(rare.status, 200);
  assert.equal((rare.body['next_runs'] as string[]).length, 100);
  assert.equal((await preview({ schedule: '* * * * *' }, '?n=101')).status, 400);
  for (const [body, field] of [
    [{ schedule: '99 * * * *' }, 'schedule_cron'],
    [{ schedule: '* * * * *', timezone: 'Mars/X' }, 'schedule_tz'],
    [{}, 'schedule_cron'],
    [{ every: '1h', nmae: 'x' }, 'nmae'],
  ] as const) {
    const { status, body: told } = await preview(body);
    assert.deepEqual([status, told['field']], [400, field]);
  }
  const before = (await server.head.get<{ schedules: unknown[] }>('/schedules')).body.schedules.length;
  const token = await server.head.post<{ token: string }>('/tokens', { name: 'v', role: 'viewer' });
  const viewer = httpClient(server.url, { token: token.body.token });
  assert.equal((await viewer.post('/schedules/preview', { every: '1h' })).status, 200);
  assert.equal((await viewer.request('PUT', '/schedules', { body: NIGHT })).status, 403);
  assert.equal((await viewer.post('/schedules/apply', { name: 'x', schedules: [] })).status, 403);
  const after = (await server.head.get<{ schedules: unknown[] }>('/schedules')).body.schedules.length;
  assert.equal(after, before);
});

test('a set is bounded, and its name is made of plain letters', async () => {
  const apply = async (body: Body) => (await server.head.post<Body>('/schedules/apply', body)).status;
  const many = Array.from({ length: 501 }, (_, i) => ({ name: `s${i}` }));
  assert.equal(await apply({ name: 'x', schedules: many }), 400);
  assert.equal(await apply({ name: 'a b', schedules: [] }), 400);
  assert.equal(await apply({ name: 'x', schedules: [], pools: [{ name: 'p', capacity: 0 }] }), 400);
  assert.equal(await apply({ name: 'x', schedules: [], dry_run: true }), 200);
});

test('whoever sees only some targets is not told what the schedules of others are called', async () => {
  const token = await server.head.post<{ token: string }>('/tokens', {
    name: 'w',
    role: 'viewer',
    targets: ['any'],
  });
  assert.equal(token.status, 201, JSON.stringify(token.body));
  const viewer = httpClient(server.url, { token: token.body.token });
  const { schedules } = (await viewer.get<{ schedules: { name: string; rule: string }[] }>('/schedules'))
    .body;
  assert.deepEqual(
    schedules.map(({ name, rule }) => [name, rule]),
    [['child', 'After its parent succeeds']],
  );
});

test('five hundred schedules at once leave the server time to answer others', async () => {
  const schedules = Array.from({ length: 500 }, (_, i) => ({ ...NIGHT, name: `of many ${i}` }));
  const applied = server.head.post<{ results: unknown[] }>('/schedules/apply', { name: 'many', schedules });
  let answered = 0;
  const health = async (): Promise<'answered'> => {
    assert.equal((await server.left.get('/health')).status, 200);
    return 'answered';
  };
  const done = applied.then(() => 'done' as const);
  while ((await Promise.race([health(), done])) === 'answered') answered++;
  assert.equal((await applied).body.results.length, 500);
  assert.ok(answered > 3, `${answered} calls were answered meanwhile`);
});
