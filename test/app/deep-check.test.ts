import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { Client } from 'pg';
import { deepCheck } from '../../src/app/deep-check.ts';
import { openDiskBlobs } from '../../src/blobs/disk.ts';
import { loadConfig } from '../../src/config.ts';
import { diskObjects } from '../../src/objects/disk.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { copyDatabase } from '../../src/store/sqlite-copy.ts';
import type { Store } from '../../src/store/store.ts';
import { seeded } from '../../proof/random.ts';
import { numberAll } from '../conformance/events.ts';
import { skipWithoutPostgres } from '../support/postgres.ts';
import { POSTGRES, create } from '../support/engines.ts';
import { type Bench, everything, HEAD, LEFT, makeWork, openBench } from '../files/fixture.ts';
import { writeAll } from '../import/rebuilding.ts';

const FLIPS = 60;

async function failuresOf(dir: string): Promise<string[]> {
  const found = await deepCheck(loadConfig({}, { dataDir: dir }));
  return found.flatMap(({ check, status, hint }) => {
    if (status === 'fail') ok(hint, `${check} says what to do`);
    return status === 'fail' ? [check] : [];
  });
}

async function fill(bench: Bench): Promise<void> {
  await makeWork(bench);
  for (let n = 0; n < 40; n++) {
    const spec = { text: `a job of ${n} ${'xyz '.repeat(60)}` };
    const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'left-claw', title: `job ${n}`, spec }]);
    const { job } = await bench.engine.leases.claim(LEFT, jobs[0]?.id ?? '');
    if (n % 2 === 0) await bench.engine.leases.complete(LEFT, job.id, job.leaseToken, `result ${n}`);
  }
  await writeAll(bench);
}

/** What users see of jobs. What changes without an event stands in no journal. */
async function visible(store: Store): Promise<string> {
  const all = (await everything(store)).map(({ job, details, events }) => ({
    details,
    events,
    job: {
      ...job,
      settled: 0,
      watched: 0,
      retryAt: 0,
      updatedAt: 0,
      leaseUntil: 0,
      leaseSpanMs: 0,
      tokenUsed: 0,
      timeoutAt: 0,
      progress: 0,
      cancelRequested: 0,
      waitingFor: 0,
      blockedOn: 0,
      rootNo: 0,
    },
  }));
  const counts = await store.read.counters.all();
  return JSON.stringify({ all, counts });
}

test('every flipped bit that changes what users see of a job is found by the deep check', async () => {
  await using bench = openBench();
  await fill(bench);
  strictEqual((await failuresOf(bench.dir)).join(), '');
  const file = path.join(bench.dir, 'spine.db');
  const copy = path.join(bench.dir, 'copy.db');
  await copyDatabase(file, copy);
  const expected = await visible(bench.store);
  await bench.store.close();
  const whole = readFileSync(copy);
  const random = seeded(11);
  let changed = 0;
  for (let flip = 0; flip < FLIPS; flip++) {
    const bytes = Buffer.from(whole);
    // Half of the file is room that nothing uses.
    let at = random.int(bytes.length);
    while (bytes[at] === 0) at = random.int(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.int(8));
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
    writeFileSync(file, bytes);
    if ((await lookAt(file, copy)) === expected) continue;
    changed++;
    ok((await failuresOf(bench.dir)).length > 0, `the bit at ${at} changed something and was not found`);
  }
  ok(changed >= 10, `${changed} flips changed something`);
});

/** What a server would show of this file, or the error it would meet. */
async function lookAt(file: string, scratch: string): Promise<string> {
  const looked = `${scratch}.looked`;
  for (const suffix of ['', '-wal', '-shm']) rmSync(looked + suffix, { force: true });
  copyFileSync(file, looked);
  try {
    const store = openSqlite({ file: looked, identity: 'test-identity' });
    try {
      return await visible(store);
    } finally {
      await store.close();
    }
  } catch (error) {
    return String(error);
  }
}

test('counters, the search index and rows that do not agree are named, with what to do', async () => {
  await using bench = openBench();
  await fill(bench);
  const file = path.join(bench.dir, 'spine.db');
  const spoil = (text: string): void => {
    const database = new DatabaseSync(file);
    database.exec(text);
    database.close();
  };
  spoil("update counter set n = n + 1 where state = 'done'");
  deepStrictEqual(await failuresOf(bench.dir), ['rows']);
  spoil("update counter set n = n - 1 where state = 'done'; delete from job_text where rowid = 12");
  deepStrictEqual(await failuresOf(bench.dir), ['rows']);
  spoil(
    "insert into job_text (rowid, title, description) values (12, 'x', ''); update job_input set spec = '{' where job_no = 12",
  );
  deepStrictEqual(await failuresOf(bench.dir), ['rows', 'journal']);
});

test('of a job that was changed, only what was said anew may differ from what was written down', async () => {
  await using bench = openBench();
  const { engine, dir } = bench;
  const { jobs } = await engine.jobs.create(HEAD, [{ target: 'left-claw', title: 'a', params: { n: 1 } }]);
  const { id = '' } = jobs[0] ?? {};
  // What the journal begins with is how it was at first.
  await writeAll(bench);
  await engine.jobs.change(HEAD, id, { params: { n: 2 }, tags: ['new'], priority: 3 });
  await engine.bots.change(HEAD, await engine.jobs.get(HEAD, id), { target: 'bot', title: 'b' }, null);
  await writeAll(bench);
  deepStrictEqual(await failuresOf(dir), []);
  const spoiled = async (text: string, back: string): Promise<string> => {
    const database = new DatabaseSync(path.join(dir, 'spine.db'));
    database.exec(text);
    const found = (await deepCheck(loadConfig({}, { dataDir: dir }))).find(
      ({ check }) => check === 'journal',
    );
    database.exec(back);
    database.close();
    return found?.message ?? '';
  };
  match(
    await spoiled("update job_input set meta = '{}'", 'update job_input set meta = null'),
    /input is another/,
  );
  match(
    await spoiled('update job set created_at = created_at + 1', 'update job set created_at = created_at - 1'),
    /createdAt is another/,
  );
  match(await spoiled('update job set attempts = 4', 'update job set attempts = 0'), /attempts is another/);
  match(
    await spoiled("update job_input set spec = '{}'", 'update job_input set spec = null'),
    /input is another/,
  );
  deepStrictEqual(await failuresOf(dir), []);
});

test('an artifact whose bytes changed or are gone is named', async () => {
  await using bench = openBench();
  const folder = path.join(bench.dir, 'blobs');
  mkdirSync(folder);
  const blobs = await openDiskBlobs({ folder, newId: () => 'one', now: () => 0 });
  const { id, size, sha256 } = await blobs.put(Readable.from([Buffer.from('bytes')]), 100);
  await bench.engine.blobs.save(HEAD, { id, size, sha256, filename: 'a.txt', contentType: 'text/plain' });
  deepStrictEqual(await failuresOf(bench.dir), []);
  writeFileSync(path.join(folder, 'one'), 'bytez');
  const found = await deepCheck(loadConfig({}, { dataDir: bench.dir }));
  match(found.find(({ check }) => check === 'artifacts')?.message ?? '', /^one \(a\.txt\)$/);
  rmSync(path.join(folder, 'one'));
  deepStrictEqual(await failuresOf(bench.dir), ['artifacts']);
});

test('what bots collected is compared with what was stored, and a bucket is left to its keeper [TQ-11]', async () => {
  await using bench = openBench();
  const { engine, dir } = bench;
  const objects = diskObjects(path.join(dir, 'objects'), 'worker-data');
  const { jobs } = await engine.jobs.create(HEAD, [{ target: 'left-claw' }]);
  const { job } = await engine.leases.claim(LEFT, jobs[0]?.id ?? '');
  await writeAll(bench);
  const bytes = Buffer.from('{"items":[]}');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const key = engine.taskData.newKey('worker-data', job, 'posts');
  const batch = { key, dataType: 'posts', items: 1, size: bytes.length, sha256 };
  await engine.taskData.announce(LEFT, job, batch);
  await objects.put(key, bytes);
  await engine.taskData.record(LEFT, job, batch, { externalIds: [], tickers: [] });
  const said = async (env: Record<string, string> = {}): Promise<string> => {
    const found = await deepCheck(loadConfig(env, { dataDir: dir }));
    const [one] = found.filter(({ check }) => check === 'task data');
    return `${one?.status}: ${one?.message}`;
  };
  strictEqual(await said(), 'pass: 1 have the bytes that were stored');
  writeFileSync(path.join(dir, 'objects', key), '{"items":[ }');
  strictEqual(await said(), `fail: ${key}`);
  rmSync(path.join(dir, 'objects', key));
  strictEqual(await said(), `fail: ${key}`);
  const bucket = { S3_BUCKET: 'box', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };
  strictEqual(await said(bucket), 'pass: they lie in the bucket box, which was not looked into');
});

test('on PostgreSQL counters and, where there is one, the journal are compared, and a missing amcheck is said', {
  skip: skipWithoutPostgres,
}, async () => {
  await using bench = openBench();
  await using spine = await POSTGRES.open();
  const { id } = await create(spine, { title: 'one' });
  const look = async (files: 'on' | 'off'): Promise<string[]> => {
    const env = { SPINE_FILES: files, DATABASE_URL: spine.place };
    const found = await deepCheck(loadConfig(env, { dataDir: bench.dir }));
    const shown = found.filter(({ check }) => check !== 'task data');
    return shown.map(({ check, status }) => `${check} ${status}`);
  };
  deepStrictEqual(await look('off'), ['database warn', 'rows pass', 'artifacts pass']);
  await numberAll(spine);
  await writeAll({ ...bench, store: spine.store });
  deepStrictEqual(await look('on'), ['database warn', 'rows pass', 'journal pass', 'artifacts pass']);
  await asAdmin(spine.place, `update job_input set title = 'ane' where id = '${id}'`);
  deepStrictEqual(await look('on'), ['database warn', 'rows pass', 'journal fail', 'artifacts pass']);
  await spine.store.transaction(0, async (tx) =>
    tx.counters.add('9', [{ target: 'any', state: 'dead', by: 1 }]),
  );
  deepStrictEqual(await look('off'), ['database warn', 'rows fail', 'artifacts pass']);
});

async function asAdmin(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
}
