import { deepStrictEqual, notStrictEqual } from 'node:assert';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../client/support.ts';
import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';

const WORKER = fileURLToPath(new URL('./checkpoint-worker.ts', import.meta.url));

/** As on another machine: a folder of its own, and nothing but the address and a token. */
function startWorker({ url, tokens }: TestServer) {
  const folder = mkdtempSync(path.join(tmpdir(), 'spine-worker-'));
  const child = fork(WORKER, [url, tokens.left], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  return {
    child,
    kill,
    folder: realpathSync(folder),
    [Symbol.asyncDispose]: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function survives(databaseUrl?: string): Promise<void> {
  const where = databaseUrl === undefined ? {} : { databaseUrl };
  await using server = await startServer({ ...where, leaseMs: 1_000, reaperIntervalMs: 100 });
  const { body: made } = await server.head.post<{ id: string }>('/jobs', { target: 'any' });
  await using first = startWorker(server);
  deepStrictEqual((await once(first.child, 'message'))[0], 'kept');
  await first.kill();
  await server.restart();
  await using second = startWorker(server);
  const job = await until(async () => {
    const { body } = await server.head.get<{ state: string; attempts: number; result: unknown }>(
      `/jobs/${made.id}`,
    );
    return body.state === 'done' && body;
  });
  deepStrictEqual(job.result, {
    lastCheckpoint: { done: ['a', 'b'], folder: first.folder },
    folder: second.folder,
  });
  notStrictEqual(first.folder, second.folder);
  deepStrictEqual(job.attempts, 2);
}

const NAME = 'a checkpoint outlives kill -9 of its worker and of the server, for a worker elsewhere [WK-43]';

test(`${NAME}, on sqlite`, () => survives());
test(`${NAME}, on postgres`, { skip: skipWithoutPostgres }, async () => {
  const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  try {
    await survives(database.url);
  } finally {
    await database.drop();
  }
});
