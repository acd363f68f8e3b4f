/** Whoever reads much waits for its turn and for room, whichever door it came through. */

import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { AsyncLocalStorage } from 'node:async_hooks';
import { suite, test, type TestContext } from 'node:test';
import { LongWork } from '../../src/engine/long-work.ts';
import type { OpenEngine } from '../../src/engine/open-engine.ts';
import { AnswerRoom } from '../../src/http/answer-room.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { type HttpClient, httpClient, type JobBody } from '../support/http.ts';
import { loggedIn } from './bots.ts';
import { openServer } from './server.ts';

const HEAD = { name: 'head', role: 'head', targets: null } as const;
const LONG = 'x'.repeat(200_000);

suite('one long answer', () => {
  test('waits for room, and is read in its caller’s turn, at every door', async (t) => {
    const spine = await openServer(t);
    const { engine, head, left } = spine;
    const bot = await loggedIn(t, spine, 'w1', { worker: true });
    const admin = await loggedIn(t, spine, 'ada', { admin: true });
    const run = await endedRun(head, left);
    const task = await makeJob(engine, { target: 'w1', params: { LONG } });
    const card = await makeJob(engine, { target: 'left-claw', meta: { LONG } });
    const [own, admins] = [`/api/v1/worker/tasks/${task}`, `/api/v1/admin/workers/tasks/${task}`];
    const seen = watched(t, engine);
    const calls: readonly [HttpClient, 'GET' | 'POST' | 'PUT' | 'PATCH', string, object?][] = [
      [head, 'GET', `/jobs/${card}`],
      [head, 'GET', `/api/tasks/${card}`],
      [left, 'PATCH', `/api/tasks/${card}`, { status: 'in-progress' }],
      [admin, 'GET', admins],
      [bot, 'GET', own],
      [bot, 'PUT', `${own}/status`, { status: 'in_progress' }],
      [bot, 'POST', `${own}/result`, { result: { said: 'well' } }],
      [admin, 'PUT', admins, { priority: 'high' }],
      [head, 'GET', `/runs/${run}`],
    ];
    for (const [client, method, path, body] of calls) {
      seen.reads.length = 0;
      seen.roomBytes = 0;
      const { status, text } = await client.request(method, path, { ...(body && { body }) });
      strictEqual(status, 200, `${method} ${path}: ${text.slice(0, 200)}`);
      ok(text.length > LONG.length, `${method} ${path}`);
      ok(seen.reads.length > 0 && seen.reads.every((inTurn) => inTurn), `${method} ${path} out of turn`);
      ok(seen.roomBytes > LONG.length, `${method} ${path} took room for ${seen.roomBytes} bytes`);
    }
  });
});

test('the tree of schedules is read and shown in pieces, in its caller’s turn', async (t) => {
  const { engine, head } = await openServer(t);
  const made = async (draft: object): Promise<string> =>
    (await engine.schedules.create(HEAD, { schedule_kind: 'manual', session_target: 'queue', ...draft })).id;
  for (let i = 0; i < 12; i++) await made({ name: `large-${i}`, payload_message: LONG.slice(0, 100_000) });
  const parentId = await made({ name: 'parent', payload_message: 'x' });
  const chained = {
    schedule_kind: 'child',
    parent_id: parentId,
    trigger_on: 'success',
    payload_message: 'x',
  };
  for (let i = 0; i < 20; i++) await made({ ...chained, name: `small-${i}` });
  const seen = watched(t, engine);
  const list = engine.schedules.list.bind(engine.schedules);
  const bytes: number[] = [];
  t.mock.method(engine.schedules, 'list', async (...asked: Parameters<typeof list>) => {
    seen.reads.push(seen.inTurn());
    const some = await list(...asked);
    bytes.push(JSON.stringify(some).length);
    return some;
  });
  const { status, body } = await head.get<{ schedules: { name: string; children: object[] }[] }>(
    '/schedules/tree',
  );
  strictEqual(status, 200);
  deepStrictEqual([body.schedules.length, body.schedules[12]?.children.length], [13, 20]);
  ok(
    seen.reads.every((inTurn) => inTurn),
    'out of turn',
  );
  ok(Math.max(...bytes) < 700_000, `${Math.max(...bytes)} bytes in one go`);
});

test('a viewer of some targets sees what waits there for approval, by one look at its jobs, also while retention takes one of them', async (t) => {
  const { engine, head, url } = await openServer(t);
  const made: string[] = [];
  for (const target of ['a', 'b', 'a']) {
    const job = { target, approval: { timeoutS: 60, auto: 'reject' } };
    made.push((await head.post<JobBody>('/jobs', job)).body.id);
  }
  const list = engine.approvals.list.bind(engine.approvals);
  t.mock.method(engine.approvals, 'list', async (...asked: Parameters<typeof list>) => {
    const found = await list(...asked);
    return [...found, ...found.slice(0, 1).map((gone) => ({ ...gone, jobNo: 999 }))];
  });
  const get = t.mock.method(engine.jobs, 'get').mock;
  const eyes = { name: 'eyes', role: 'viewer', targets: ['a'] };
  const { token } = (await head.post<{ token: string }>('/tokens', eyes)).body;
  const viewer = httpClient(url, { token });
  t.after(() => viewer.close());
  const { status, body } = await viewer.get<{ approvals: { id: string }[] }>('/approvals');
  deepStrictEqual(
    [status, body.approvals.map(({ id }) => id)],
    [200, made.filter((_, i) => i !== 1).toReversed()],
  );
  strictEqual(get.callCount(), 0);
});

test('a thousand short numbers in a batch of ends are one look at the store, in their caller’s turn', async (t) => {
  const store = openSqlite({ file: ':memory:', identity: 'http' });
  const { engine, left } = await openServer(t, undefined, { store });
  for (let i = 0; i < 3; i++) await makeJob(engine, { target: i === 2 ? 'right-claw' : 'left-claw' });
  const looks = (['byNo', 'named'] as const).map((verb) => t.mock.method(store.read.jobs, verb).mock);
  const jobs = Array.from({ length: 1_000 }, (_, i) => ({ id: String(1 + (i % 5)) }));
  const { status, body } = await left.post<{ results: { error: string }[] }>('/jobs/complete-batch', {
    jobs: [...jobs.slice(0, 999), { id: '../etc' }],
  });
  strictEqual(status, 200);
  deepStrictEqual(
    [...body.results.slice(0, 5), ...body.results.slice(-1)].map(({ error }) => error),
    ['not_owner', 'not_owner', 'forbidden', 'not_found', 'not_found', 'not_found'],
  );
  strictEqual(
    looks.reduce((sum, look) => sum + look.callCount(), 0),
    1,
  );
});

interface Watched {
  readonly reads: boolean[];
  readonly inTurn: () => boolean;
  roomBytes: number;
}

/** Which reads of what jobs hold were done in somebody's turn, and how much room was asked for at most. */
function watched(t: TestContext, engine: OpenEngine): Watched {
  const turn = new AsyncLocalStorage<boolean>();
  const inTurn = (): boolean => turn.getStore() === true;
  const seen: Watched = { reads: [], inTurn, roomBytes: 0 };
  const run = Reflect.get(LongWork.prototype, 'run');
  t.mock.method(
    LongWork.prototype,
    'run',
    function runInTurn(this: LongWork, ...[actor, work]: Parameters<typeof run>) {
      return run.call(this, actor, () => turn.run(true, work));
    },
  );
  const take = Reflect.get(AnswerRoom.prototype, 'take');
  t.mock.method(
    AnswerRoom.prototype,
    'take',
    function room(this: AnswerRoom, ...asked: Parameters<typeof take>) {
      seen.roomBytes = Math.max(seen.roomBytes, asked[1]);
      return take.apply(this, asked);
    },
  );
  const details = engine.jobs.details.bind(engine.jobs);
  t.mock.method(engine.jobs, 'details', (...asked: Parameters<typeof details>) => {
    seen.reads.push(inTurn());
    return details(...asked);
  });
  const get = engine.runs.get.bind(engine.runs);
  t.mock.method(engine.runs, 'get', (...asked: Parameters<typeof get>) => {
    seen.reads.push(inTurn());
    return get(...asked);
  });
  return seen;
}

async function makeJob(engine: OpenEngine, draft: object): Promise<string> {
  const { jobs } = await engine.jobs.create(HEAD, [{ target: 'any', ...draft }]);
  return jobs[0]?.id ?? '';
}

/** A run of a schedule that said much. */
async function endedRun(head: HttpClient, left: HttpClient): Promise<string> {
  const schedule = { name: 'talker', schedule_kind: 'manual', session_target: 'queue', target: 'left-claw' };
  const { id } = (await head.post<{ id: string }>('/schedules', schedule)).body;
  strictEqual((await head.post(`/schedules/${id}/run`)).status < 300, true);
  const [held] = (await left.post<{ jobs: JobBody[] }>('/jobs/claim', {})).body.jobs;
  const ended = { leaseToken: held?.leaseToken, result: LONG };
  strictEqual((await left.post(`/jobs/${held?.id}/complete`, ended)).status, 200);
  return held?.id ?? '';
}
