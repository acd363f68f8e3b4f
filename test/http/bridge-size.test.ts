/** How much the bridge answers at most, however much there is. */

import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { LIMITS } from '../../src/domain/limits.ts';
import { httpClient } from '../support/http.ts';
import { until } from '../support/worker-process.ts';
import { openServer } from './server.ts';

const WORKERS = {
  staleMs: 90_000,
  onlineMs: 300_000,
  botTasks: 200,
  sessionTimeoutMs: 1_800_000,
  sessionTimeoutMaxMs: 7_200_000,
  sessions: true,
  heartbeatsFile: null,
};
const HEAD = { name: 'head', role: 'head', targets: null } as const;

test('a list of tasks ends before it is too long, also where printing makes it longer, and says so [WK-09]', async (t) => {
  const { url, tokens, engine } = await openServer(t);
  const head = httpClient(url, { token: tokens.head });
  t.after(() => head.close());
  const description = '"'.repeat(LIMITS.descriptionChars);
  const drafts = Array.from({ length: 100 }, (_, i) => ({ target: 'slot-1', title: `${i}`, description }));
  await engine.jobs.create(HEAD, drafts);
  const { status, text, body, headers } = await head.get<{ title: string }[]>('/api/tasks');
  deepStrictEqual([status, headers['x-truncated']], [200, 'true']);
  ok(Buffer.byteLength(text) <= LIMITS.answerBytes, `${text.length}`);
  const shown = Math.floor(LIMITS.answerBytes / (2 * LIMITS.descriptionChars + 1_000));
  ok(body.length >= shown, `${body.length} of ${shown}`);
  // All were made in one moment: then the first comes first.
  deepStrictEqual(
    body.map(({ title }) => title),
    drafts.slice(0, body.length).map(({ title }) => title),
  );
});

test('a card of which much was said shows its last moves [WK-35]', async (t) => {
  const { url, tokens, engine } = await openServer(t);
  const head = httpClient(url, { token: tokens.head });
  t.after(() => head.close());
  const { body: task } = await head.post<{ id: string }>('/api/tasks', { title: 'Long' });
  const path = `/api/tasks/${task.id}`;
  const movesOf = async (): Promise<string[]> => {
    const { body } = await head.get<{ statusHistory: { to: string }[] }>(path);
    return body.statusHistory.map(({ to }) => to);
  };
  await head.request('PATCH', path, { body: { status: 'in-progress' } });
  const say = async (times: number): Promise<void> => {
    const job = await engine.jobs.get(HEAD, task.id);
    const metadata = { said: 's'.repeat(16_000) };
    for (let i = 0; i < times; i++)
      await engine.tasks.change(HEAD, job, { status: null, metadata, note: null });
  };
  await say(100);
  deepStrictEqual(await movesOf(), ['todo', 'in-progress']);
  await say(300);
  await head.request('PATCH', path, { body: { status: 'done' } });
  deepStrictEqual(await movesOf(), ['done']);
});

test('a list of sessions has all of them, and what came of the newest within its bounds [WK-14]', async (t) => {
  const { url, tokens, engine } = await openServer(t);
  const head = httpClient(url, { token: tokens.head });
  t.after(() => head.close());
  const spec = { prompt: 'p'.repeat(400_000) };
  const session = (title: string) => ({ target: 'sessions', type: 'session', newType: true, title, spec });
  for (let i = 0; i < 30; i++) {
    const { jobs } = await engine.jobs.create(HEAD, [session(`${i}`)]);
    const { job } = await engine.leases.claim(HEAD, jobs[0]?.id ?? '', { capabilities: [] });
    const result = { sessionId: job.id, text: 'r'.repeat(500_000) };
    await engine.leases.complete(HEAD, job.id, job.leaseToken, result);
  }
  for (const odd of [null, 'words', [1]])
    await engine.jobs.create(HEAD, [{ ...session(`odd ${JSON.stringify(odd)}`), spec: odd }]);
  const { status, text, body, headers } = await head.get<Record<string, unknown>[]>('/api/sessions');
  deepStrictEqual([status, headers['x-truncated'], body.length], [200, 'true', 33]);
  ok(text.length <= LIMITS.answerBytes, `${text.length}`);
  const ended = body.filter(({ completed }) => completed);
  deepStrictEqual(
    ended.map((each) => 'result' in each),
    Array.from({ length: 30 }, (_, i) => i < 16),
  );
});

test('a session that ran for long is in the list when it has ended, and by its label [WK-14 WK-18]', async (t) => {
  const { head, engine } = await openServer(t, undefined, { workers: WORKERS });
  const sessions = (titles: readonly string[]) =>
    titles.map((title) => ({ target: 'sessions', type: 'session', newType: true, title, tags: [title] }));
  const [long] = (await engine.jobs.create(HEAD, sessions(['long']))).jobs;
  const held = await engine.leases.claim(HEAD, long?.id ?? '', { capabilities: [] });
  const endOthers = async (names: readonly string[]) => {
    const { jobs } = await engine.jobs.create(HEAD, sessions(names));
    await Promise.all(jobs.map(({ id }) => engine.jobs.cancel(HEAD, id, 'over')));
  };
  await endOthers(Array.from({ length: 201 }, (_, i) => `${i}`));
  const endedAt = engine.now();
  await until('the next moment', () => engine.now() > endedAt);
  await engine.leases.complete(HEAD, held.job.id, held.job.leaseToken, { text: 'at last' });
  const listed = async (query = '') =>
    (await head.get<Record<string, unknown>[]>(`/api/sessions${query}`)).body;
  const [newest, ...others] = await listed();
  deepStrictEqual([newest?.['id'], newest?.['completed'], others.length], ['long', true, 199]);
  const own = await listed('?label=long');
  deepStrictEqual(
    own.map(({ id, completed }) => [id, completed]),
    [['long', true]],
  );
});

test('more sessions than a list can show are not begun [WK-14]', async (t) => {
  const { head, engine } = await openServer(t, undefined, { workers: WORKERS });
  const drafts = Array.from({ length: 799 }, (_, i) => ({
    target: 'sessions',
    type: 'session',
    newType: true,
    title: `${i}`,
  }));
  await engine.jobs.create(HEAD, drafts);
  const spawn = (sessionLabel: string) => head.post('/api/sessions/spawn', { sessionLabel, prompt: 'p' });
  strictEqual((await spawn('last')).status, 200);
  const { status, body } = await spawn('one more');
  deepStrictEqual([status, body['error'], body['limit']], [429, 'queue_full', 800]);
  strictEqual((await head.get<unknown[]>('/api/sessions')).body.length, 800);
});
