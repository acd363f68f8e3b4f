import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readJournal } from '../../src/files/journal-read.ts';
import type { JobBody } from '../support/http.ts';
import { freshDatabase, skipWithoutPostgres } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';

const WITHIN_MS = 45_000;

interface Details {
  readonly files: Readonly<Record<'journal' | 'files', { readonly pos: number; readonly lagMs: number }>>;
  readonly loops: readonly {
    readonly name: string;
    readonly runs: number;
    readonly lastError: string | null;
  }[];
}

async function detailsOf({ head }: TestServer): Promise<Details> {
  return (await head.get<Details>('/health/details')).body;
}

function errorOf({ loops }: Details, name: string): string | null {
  return loops.find((loop) => loop.name === name)?.lastError ?? null;
}

async function until<T>(look: () => Promise<T | null>): Promise<T> {
  for (const startedMs = performance.now(); ; ) {
    const found = await look();
    if (found !== null) return found;
    ok(performance.now() - startedMs < WITHIN_MS, 'it did not come about in time');
    await sleep(20);
  }
}

async function createJob({ head }: TestServer): Promise<string> {
  return (await head.post<JobBody>('/jobs', { target: 'any', spec: 'x' })).body.id;
}

function kindsIn(server: TestServer, id: string): string[] | null {
  try {
    const text = readFileSync(path.join(server.dataDir, 'events', `${id}.jsonl`), 'utf8');
    return text
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
  } catch {
    return null;
  }
}

/** The thread has the name of what it does. */
function hasThread({ pid }: TestServer): boolean {
  return readdirSync(`/proc/${pid}/task`).some(
    (task) => readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8').trim() === 'files',
  );
}

test('an idle server has no thread for its files, and one after the first job', {
  skip: process.platform !== 'linux' && 'the names of threads are read from /proc',
}, async () => {
  await using server = await startServer();
  // Several passes of the loops, as /health/details shows them.
  await until(async () =>
    (await detailsOf(server)).loops.every(
      ({ name, runs }) => !['journal', 'files'].includes(name) || runs > 2,
    )
      ? true
      : null,
  );
  strictEqual(hasThread(server), false);
  const id = await createJob(server);
  deepStrictEqual(await until(async () => kindsIn(server, id)), ['job.created']);
  strictEqual(hasThread(server), true);
  const { files } = await until(async () => {
    const details = await detailsOf(server);
    return details.files.journal.pos > 0 && details.files.files.pos > 0 ? details : null;
  });
  deepStrictEqual([files.journal.lagMs, files.files.lagMs], [0, 0]);
});

test('a disk that fails is shown as the error of the pass, and the files follow when it works again', async () => {
  await using server = await startServer();
  const folder = path.join(server.dataDir, 'jobs');
  const first = await createJob(server);
  await until(async () => kindsIn(server, first));
  renameSync(folder, `${folder}.away`);
  writeFileSync(folder, '');
  const id = await createJob(server);
  const details = await until(async () => {
    const now = await detailsOf(server);
    return errorOf(now, 'files') === null ? null : now;
  });
  match(errorOf(details, 'files') ?? '', /ENOTDIR/);
  strictEqual(errorOf(details, 'journal'), null);
  ok(details.files.files.lagMs > 0);
  rmSync(folder);
  renameSync(`${folder}.away`, folder);
  await until(async () => {
    const { files } = await detailsOf(server);
    return files.files.lagMs === 0 ? true : null;
  });
  ok(readdirSync(folder).includes(`${id}.json`));
  strictEqual(errorOf(await detailsOf(server), 'files'), null);
});

test('a server that is told to stop writes what it has committed, and the next one has nothing to add', async () => {
  await using server = await startServer();
  const jobs = Array.from({ length: 300 }, (_, i) => ({ target: 'any', title: `job ${i}` }));
  strictEqual((await server.head.post('/jobs/batch', { jobs })).status, 201);
  await server.kill('SIGTERM');
  strictEqual(server.exitCode, 0);
  strictEqual(await eventLines(server), 300);
  strictEqual(readdirSync(path.join(server.dataDir, 'jobs')).length, 300);
  await server.restart();
  await server.kill('SIGTERM');
  strictEqual(await eventLines(server), 300);
});

test('on PostgreSQL the files follow too when they are turned on', {
  skip: skipWithoutPostgres,
}, async () => {
  const database = await freshDatabase(process.env['TEST_POSTGRES_URL'] ?? '');
  try {
    await using server = await startServer({ databaseUrl: database.url, env: { SPINE_FILES: 'on' } });
    const id = await createJob(server);
    deepStrictEqual(await until(async () => kindsIn(server, id)), ['job.created']);
    await server.kill('SIGTERM');
    strictEqual(await eventLines(server), 1);
  } finally {
    await database.drop();
  }
});

async function eventLines({ dataDir }: TestServer): Promise<number> {
  let events = 0;
  for await (const { line } of readJournal(path.join(dataDir, 'journal')))
    if (line !== null && 'pos' in line) events++;
  return events;
}
