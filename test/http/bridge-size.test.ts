/** How much the bridge answers at most, however much there is. */

import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { LIMITS } from '../../src/domain/limits.ts';
import { httpClient } from '../support/http.ts';
import { openServer } from './server.ts';

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
  strictEqual(new Set(body.map(({ title }) => title)).size, body.length);
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
