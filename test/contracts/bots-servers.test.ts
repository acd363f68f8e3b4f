import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { httpClient } from '../support/http.ts';
import { emptyDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { startServer, WITHOUT_FILES } from '../support/server.ts';
import {
  addTask,
  ADMIN,
  type Bot,
  claim,
  claimed,
  type Enveloped,
  expectData,
  expectError,
  move,
  peopled,
  readTask,
  type Task,
  WORKER,
} from './bot-cases.ts';
import { until } from '../support/clock.ts';
import { post } from './bots-data.ts';

test('three servers on one database hand out each task once, to workers of all [TQ-02 TQ-42 C12]', {
  skip: skipWithoutPostgres,
}, async (t) => {
  const database = await emptyDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  t.after(() => database.drop());
  const one = await startServer({ databaseUrl: database.url });
  const spine = await peopled(one, 10);
  t.after(() => spine.stop());
  await using other = await startServer({ databaseUrl: database.url });
  await using third = await startServer({ databaseUrl: database.url });
  // What one server let in is known to the others.
  const urls = [one.url, other.url, third.url];
  const bots: Bot[] = spine.bots.map((bot, i) => ({
    ...bot,
    http: httpClient(urls[i % 3] ?? one.url, { token: bot.token }),
  }));
  t.after(() => bots.forEach(({ http }) => http.close()));
  for (let round = 0; round < 30; round++) {
    const { id } = await addTask(spine);
    const answers = await Promise.all(bots.map(claim));
    const winners = answers.flatMap((task, i) => (task === null ? [] : [i]));
    deepStrictEqual([winners.length, answers[winners[0] ?? -1]?.id], [1, id]);
    expectData(await move(bots[winners[0] ?? -1] as Bot, id, 'completed'));
  }
  const made = new Set<string>();
  for (let i = 0; i < 200; i++) made.add((await addTask(spine)).id);
  const seen: string[] = [];
  await Promise.all(
    bots.map(async (bot) => {
      for (let task = await claim(bot); task !== null; task = await claim(bot)) {
        seen.push(task.id);
        expectData(await move(bot, task.id, 'completed'));
      }
    }),
  );
  deepStrictEqual([seen.length, new Set(seen)], [200, made]);
  // A right that is taken away at one server is gone at the other.
  const fired = bots[1] as Bot;
  expectData(await fired.http.get<Enveloped<Task[]>>(`${WORKER}/tasks?limit=1`));
  await spine.admin.http.request('DELETE', `${ADMIN}/${fired.id}`);
  expectError(await fired.http.post(`${WORKER}/tasks/claim`), 403, 'Not authorized as a worker');
});

test('what a bot collects at one server is read at another, or refused when its bytes have changed [TQ-11]', {
  skip: skipWithoutPostgres,
}, async (t) => {
  const url = await databaseIn(t, 'UTC');
  const one = await startServer({ databaseUrl: url });
  const spine = await peopled(one, 1);
  t.after(() => spine.stop());
  await using other = await startServer({ databaseUrl: url });
  const [bot] = spine.bots;
  ok(bot !== undefined);
  await addTask(spine);
  const { id } = await claimed(bot);
  const items = Array.from({ length: 500 }, (_, n) => ({ data: `${n} `.repeat(300) }));
  const { key } = expectData(await post(bot, id, 'posts', items), 201);
  ok(key !== null);
  const there = httpClient(other.url, { token: bot.token });
  t.after(() => there.close());
  const path = `${WORKER}/tasks/${id}/data/file?key=${encodeURIComponent(key)}`;
  const read = expectData(await there.get<Enveloped<{ items: { data: string }[] }>>(path));
  deepStrictEqual(
    read.items.map(({ data }) => data),
    items.map(({ data }) => data),
  );
  ok(!existsSync(join(one.dataDir, 'objects')) && !existsSync(join(other.dataDir, 'objects')));
  const client = new Client({ connectionString: url });
  await client.connect();
  const pieces = async (): Promise<number> =>
    Number((await client.query<{ n: string }>('select count(*) as n from piece')).rows[0]?.n);
  try {
    ok((await pieces()) > 1);
    await client.query("update piece set bytes = 'changed' where no = 0");
    expectError(await there.get(path), 503, /is not what was stored there/);
  } finally {
    await client.end();
  }
});

for (const [store, skip] of [
  ['SQLite', false],
  ['PostgreSQL', skipWithoutPostgres],
] as const)
  test(
    `a server that is killed during claims loses no task and gives none out twice, on ${store} [TQ-02 TQ-42 C11]`,
    {
      skip,
    },
    (t) => killedDuringClaims(t, store),
  );

async function killedDuringClaims(t: TestContext, store: string): Promise<void> {
  const server = await startServer(store === 'SQLite' ? {} : { databaseUrl: await databaseIn(t, 'UTC') });
  const spine = await peopled(server, 10);
  t.after(() => spine.stop());
  const made: string[] = [];
  for (let i = 0; i < 200; i++) made.push((await addTask(spine)).id);
  const answered = new Map<string, Bot>();
  let killed = false;
  const claiming = spine.bots.map(async (bot) => {
    while (!killed) {
      // Only the end of the server may break a call off, and there is more to do than is taken before that.
      const task = await claim(bot).catch((error: unknown) => {
        if (killed) return null;
        throw error;
      });
      if (task === null) break;
      ok(!answered.has(task.id), 'a task was given out twice');
      answered.set(task.id, bot);
      if (answered.size >= 60 && !killed) {
        killed = true;
        await server.kill('SIGKILL');
      }
    }
  });
  await Promise.all(claiming);
  ok(killed && answered.size >= 60, `${answered.size} claims were answered`);
  await server.restart();
  // Connections of before are gone, logins are not.
  const held = new Map<string, Task>();
  for (const id of made) {
    const task = await readTask(spine, id);
    if (task.status === 'in_progress') held.set(id, task);
    else strictEqual(task.status, 'pending', 'a task is neither held nor waits');
  }
  for (const [id, bot] of answered)
    strictEqual(held.get(id)?.assigned_to, bot.id, 'an answered claim was lost');
  const unheard = [...held.keys()].filter((id) => !answered.has(id));
  ok(unheard.length <= spine.bots.length, `${unheard.length} claims were lost on their way`);
  // Whoever holds one finds it among its own, and can do it.
  for (const [id, { assigned_to: who }] of held) {
    const bot = spine.bots.find((each) => each.id === who);
    ok(bot);
    expectData(await move(bot, id, 'completed'));
  }
  const rest: string[] = [];
  await Promise.all(
    spine.bots.map(async (bot) => {
      for (let task = await claim(bot); task !== null; task = await claim(bot)) {
        rest.push(task.id);
        expectData(await move(bot, task.id, 'completed'));
      }
    }),
  );
  deepStrictEqual(new Set([...held.keys(), ...rest]), new Set(made));
  strictEqual(rest.length + held.size, made.length);
}

test('a worker counts as online as long as the setting says, and a silent one is stuck [TQ-12 TQ-22]', async (t) => {
  const env = {
    ...WITHOUT_FILES,
    SPINE_ONLINE_MS: '4000',
    SPINE_STUCK_SCAN_MS: '100',
    SPINE_STUCK_RUNNING_MS: '4500',
    SPINE_STUCK_OFFLINE_MS: '4200',
  };
  const spine = await peopled(await startServer({ env }));
  t.after(() => spine.stop());
  const [bot, other] = spine.bots as [Bot, Bot];
  interface Listed {
    readonly id: string;
    readonly is_online: boolean;
    readonly last_activity_at: string;
  }
  const listed = async () =>
    expectData(await spine.admin.http.get<Enveloped<Listed[]>>(ADMIN)).find(({ id }) => id === bot.id);
  const { id } = await addTask(spine);
  strictEqual((await claimed(bot)).id, id);
  strictEqual((await listed())?.is_online, true);
  let task = await readTask(spine, id);
  for (let looks = 0; task.status === 'in_progress' && looks < 300; looks++) {
    await sleep(100);
    task = await readTask(spine, id);
  }
  strictEqual(task.status, 'failed');
  const silent = await listed();
  strictEqual(silent?.is_online, false);
  const updates = expectData(
    await spine.admin.http.get<Enveloped<{ content: string }[]>>(`${ADMIN}/tasks/${id}/updates`),
  ).map(({ content }) => content);
  ok(updates.includes('Worker W1 went offline. Task marked as failed for retry.'), JSON.stringify(updates));
  // It comes back with what it did: the task stays failed, and nothing is lost.
  expectError(
    await move(bot, id, 'completed'),
    409,
    /^This task was failed while nothing was heard of its worker/,
  );
  expectError(
    await bot.http.post(`${WORKER}/tasks/${id}/result`, { result: { posts: 3 } }),
    409,
    /kept as an update/,
  );
  const items = [{ data: { posts: 3 } }];
  expectError(
    await bot.http.post(`${WORKER}/tasks/${id}/data`, { data_type: 'posts', items }),
    409,
    /its data came too late and were not kept/,
  );
  const kept = expectData(
    await bot.http.get<Enveloped<{ content: string }[]>>(`${WORKER}/tasks/${id}/updates`),
  );
  ok(kept.some(({ content }) => content.includes('{"posts":3}')));
  ok(((await listed())?.last_activity_at ?? '') > (silent?.last_activity_at ?? ''));
  const retry = await until('the retry', () => claim(other));
  deepStrictEqual([retry.parent_task_id, retry.retry_count], [id, 1]);
});

/** What a task of a worker that is silent takes until it is failed, where it and its database tell the time by different zones. */
async function silence(t: TestContext, zone: string, databaseUrl?: string): Promise<number> {
  const env = {
    ...WITHOUT_FILES,
    TZ: zone,
    SPINE_ONLINE_MS: '1000',
    SPINE_STUCK_SCAN_MS: '100',
    SPINE_STUCK_RUNNING_MS: '1500',
    SPINE_STUCK_OFFLINE_MS: '1200',
  };
  const spine = await peopled(await startServer({ env, ...(databaseUrl && { databaseUrl }) }), 1);
  t.after(() => spine.stop());
  const { id } = await addTask(spine);
  strictEqual((await claimed(spine.bots[0] as Bot)).id, id);
  for (let looks = 0; looks < 600; looks++) {
    const { status, started_at: from, completed_at: to } = await readTask(spine, id);
    if (status === 'failed') return Date.parse(to ?? '') - Date.parse(from ?? '');
    await sleep(50);
  }
  throw new Error('it is never found');
}

async function databaseIn(t: TestContext, zone: string): Promise<string> {
  const database = await emptyDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  t.after(() => database.drop());
  const client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query(`alter database "${new URL(database.url).pathname.slice(1)}" set timezone = '${zone}'`);
  await client.end();
  return database.url;
}

test('time zones of server and database change nothing about silence [TQ-22 K6]', {
  skip: skipWithoutPostgres,
}, async (t) => {
  const away = 'America/Los_Angeles';
  const took = await Promise.all([
    silence(t, away),
    silence(t, away, await databaseIn(t, 'UTC')),
    silence(t, 'UTC', await databaseIn(t, away)),
  ]);
  for (const ms of took) ok(ms >= 1_500 && ms < 30_000, took.join());
});
