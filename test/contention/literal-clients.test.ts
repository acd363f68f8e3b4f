/** Many copies of a client that knows no claims, each a process of its own, after the same tasks. */

import { deepStrictEqual, strictEqual } from 'node:assert';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';

const CLIENT = fileURLToPath(new URL('./literal-client.ts', import.meta.url));
const COPIES = 20;
const TASKS = 40;
const ENV = { SPINE_BRIDGE_AUTH: 'loopback' };

interface Task {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly metadata: { readonly by?: string };
  readonly statusHistory: readonly { readonly to: string }[];
}

async function race(servers: readonly TestServer[]): Promise<void> {
  const { anyone } = servers[0] as TestServer;
  for (let i = 0; i < TASKS; i++)
    await anyone.post('/api/tasks', { title: `${i}`, owner: 'slot-1', priority: i % 3 });
  const foreign = await anyone.post<Task>('/api/tasks', { title: 'Not theirs', owner: 'slot-2' });
  const clients = await Promise.all(
    Array.from({ length: COPIES }, (_, i) => startClient(servers[i % servers.length] as TestServer, `c${i}`)),
  );
  try {
    const ends = clients.map(async (client) => (await once(client, 'message'))[0] as string[]);
    for (const client of clients) client.send('go');
    const won = await Promise.all(ends);
    const winners = new Map(won.flatMap((ids, i) => ids.map((id) => [id, `c${i}`] as const)));
    deepStrictEqual([won.flat().length, winners.size], [TASKS, TASKS]);
    for (const [id, by] of winners) {
      const { body } = await anyone.get<Task>(`/api/tasks/${id}`);
      deepStrictEqual(
        [body.status, body.attempts, body.metadata.by, body.statusHistory.map(({ to }) => to)],
        ['done', 1, by, ['todo', 'in-progress', 'done']],
      );
    }
    strictEqual((await anyone.get<Task>(`/api/tasks/${foreign.body.id}`)).body.status, 'todo');
  } finally {
    for (const client of clients) client.kill('SIGKILL');
  }
}

async function startClient({ url }: TestServer, name: string): Promise<ChildProcess> {
  const client = fork(CLIENT, [url, name], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  await once(client, 'message');
  return client;
}

test('of 20 processes that list, filter and PATCH at two servers one wins each task, and its words stand [WK-10 WK-12]', {
  skip: skipWithoutPostgres,
}, async () => {
  const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  try {
    await using one = await startServer({ databaseUrl: database.url, env: ENV });
    await using other = await startServer({ databaseUrl: database.url, env: ENV });
    await race([one, other]);
  } finally {
    await database.drop();
  }
});
