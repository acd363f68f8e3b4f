import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileNameOf } from '../../src/files/file-name.ts';
import { openProjection, type Projection } from '../../src/files/projection.ts';
import { copyDatabase } from '../../src/store/sqlite-copy.ts';
import { allJobs, type Bench, drain, HEAD, LEFT, makeWork, openBench } from './fixture.ts';

function projectionOf(
  bench: Bench,
  more: { jobsPerPass?: number; budgetMs?: number } = {},
): Promise<Projection> {
  return openProjection({ dir: bench.dir, store: bench.store, clock: bench.clock, ...more });
}

const jobFile = (bench: Bench, id: string): string => path.join(bench.dir, 'jobs', `${fileNameOf(id)}.json`);
const eventFile = (bench: Bench, id: string): string =>
  path.join(bench.dir, 'events', `${fileNameOf(id)}.jsonl`);

function eventLines(bench: Bench, id: string): Record<string, unknown>[] {
  const text = readFileSync(eventFile(bench, id), 'utf8');
  ok(text.endsWith('\n'));
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Every job has its file and all its events, once each and in order. */
async function assertComplete(bench: Bench): Promise<void> {
  const jobs = await allJobs(bench.store);
  for (const job of jobs) {
    const document = JSON.parse(readFileSync(jobFile(bench, job.id), 'utf8')) as Record<string, unknown>;
    strictEqual(document['state'], job.state);
    const kinds = (await bench.store.read.feed.ofJob(job.no, 0, 10_000)).map(({ seq, kind }) => ({
      seq,
      kind,
    }));
    deepStrictEqual(
      eventLines(bench, job.id).map(({ seq, type }) => ({ seq, kind: type })),
      kinds,
    );
  }
  strictEqual(readdirSync(path.join(bench.dir, 'jobs')).length, jobs.length);
}

test('every job has a file with its v0 fields and an event log in the data dir [SP-06 SP-39]', async () => {
  await using bench = openBench();
  await makeWork(bench);
  await drain(await projectionOf(bench));
  await assertComplete(bench);
  const [done, typed] = await allJobs(bench.store);
  ok(done && typed);
  const document = JSON.parse(readFileSync(jobFile(bench, done.id), 'utf8')) as Record<string, unknown>;
  for (const name of [
    'id',
    'target',
    'status',
    'createdAt',
    'updatedAt',
    'createdBy',
    'claimedBy',
    'leaseUntil',
    'attempts',
    'maxAttempts',
    'spec',
    'meta',
    'comments',
    'result',
    'error',
  ]) {
    ok(name in document, `${name} is missing`);
  }
  deepStrictEqual(document['spec'], { text: 'ünïcödé \u2028 \n "quoted"' });
  deepStrictEqual(document['result'], { answer: '42' });
  strictEqual(document['createdAt'], new Date(done.createdAt).toISOString());
  const running = readFileSync(jobFile(bench, typed.id), 'utf8');
  ok(typed.leaseToken && !running.includes(typed.leaseToken), 'the lease token is in the file');
  deepStrictEqual(
    (JSON.parse(running) as { comments: { text: string }[] }).comments.map(({ text }) => text),
    ['first', 'second'],
  );
  deepStrictEqual(Object.keys(eventLines(bench, done.id)[0] ?? {}).slice(0, 4), ['t', 'seq', 'type', 'by']);
  ok(existsSync(path.join(bench.dir, 'types', 'review.json')));
});

test('files are replaced by rename, private, and leave no temp file behind [SP-37]', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'left-claw' }]);
  const id = jobs[0]?.id ?? '';
  const projection = await projectionOf(bench);
  await drain(projection);
  const before = statSync(jobFile(bench, id));
  await bench.engine.leases.claim(LEFT, id);
  await drain(projection);
  const after = statSync(jobFile(bench, id));
  ok(before.ino !== after.ino, 'the file was written in place');
  strictEqual(after.mode & 0o777, 0o600);
  deepStrictEqual(readdirSync(path.join(bench.dir, 'jobs')), [`${id}.json`]);
  // A temp file of a killed pass is overwritten by the next one.
  writeFileSync(`${jobFile(bench, id)}.tmp`, '{"half');
  await bench.engine.jobs.comment(HEAD, id, 'more');
  await drain(projection);
  deepStrictEqual(readdirSync(path.join(bench.dir, 'jobs')), [`${id}.json`]);
});

test('small passes add up, and a restart after any of them writes no event line twice and misses none [SP-39]', async () => {
  await using bench = openBench();
  await makeWork(bench);
  for (let i = 0; i < 40; i++) {
    // Each pass is a new process that was killed after it, or even before it could save how far it came.
    const watermark = path.join(bench.dir, 'files.watermark');
    const saved = existsSync(watermark) ? readFileSync(watermark) : null;
    const { done } = await (await projectionOf(bench, { jobsPerPass: 2 })).runOnce();
    if (i % 2 === 0 && saved !== null) writeFileSync(watermark, saved);
    if (i === 20) await bench.engine.jobs.create(HEAD, [{ target: 'any' }]);
    if (done === 0 && i > 21) break;
  }
  await drain(await projectionOf(bench));
  await assertComplete(bench);
});

test('an event line that a crash cut off is written again [SP-39]', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'left-claw' }]);
  const id = jobs[0]?.id ?? '';
  await bench.engine.jobs.comment(HEAD, id, 'x'.repeat(10_000));
  await bench.engine.jobs.comment(HEAD, id, 'y');
  await drain(await projectionOf(bench));
  const whole = readFileSync(eventFile(bench, id));
  for (const cut of [0, 1, 50, 9_000, whole.length - 1, whole.length - 40]) {
    writeFileSync(eventFile(bench, id), whole);
    truncateSync(eventFile(bench, id), cut);
    rmSync(path.join(bench.dir, 'files.watermark'));
    await drain(await projectionOf(bench));
    deepStrictEqual(readFileSync(eventFile(bench, id)), whole, `cut at ${cut}`);
  }
});

test('a history whose file has lost earlier lines is written anew', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'left-claw' }]);
  const id = jobs[0]?.id ?? '';
  await drain(await projectionOf(bench));
  rmSync(eventFile(bench, id));
  await bench.engine.leases.claim(LEFT, id);
  await drain(await projectionOf(bench));
  await assertComplete(bench);
});

test('a database from a backup gets its own histories, not those of the lost time', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'left-claw' }]);
  const id = jobs[0]?.id ?? '';
  await copyDatabase(path.join(bench.dir, 'spine.db'), path.join(bench.dir, 'backup.db'));
  await bench.engine.jobs.comment(HEAD, id, 'in the lost time');
  await bench.engine.jobs.comment(HEAD, id, 'and again');
  await drain(await projectionOf(bench));
  await bench.store.close();
  for (const suffix of ['', '-wal', '-shm'])
    rmSync(path.join(bench.dir, `spine.db${suffix}`), { force: true });
  copyFileSync(path.join(bench.dir, 'backup.db'), path.join(bench.dir, 'spine.db'));
  await using restored = openBench(bench.dir);
  const projection = await projectionOf(restored);
  await restored.engine.leases.claim(LEFT, id);
  await drain(projection);
  await assertComplete(restored);
  deepStrictEqual(
    eventLines(restored, id).map(({ type }) => type),
    ['job.created', 'job.claimed'],
  );
});

test('the budget ends a pass early, and the next one goes on there', async () => {
  await using bench = openBench();
  await bench.engine.jobs.create(
    HEAD,
    Array.from({ length: 60 }, () => ({ target: 'any' })),
  );
  const projection = await projectionOf(bench, { budgetMs: 1 });
  const first = await projection.runOnce();
  ok(first.done < 60 && !first.more && (first.nextInMs ?? 0) > 0);
  ok(projection.lagMs() > 0);
  await drain(projection);
  strictEqual(projection.lagMs(), 0);
  await assertComplete(bench);
});

test('no id leads out of its folder, whatever it is made of [SP-06]', async () => {
  const hostile = [
    '../../etc/passwd',
    '..',
    '.',
    '',
    'a/b',
    'a\\b',
    'nul',
    'CON',
    'x'.repeat(65),
    'a\0b',
    'ünï',
    '-rf',
    '~root',
    'a b',
    '%2e%2e',
  ];
  for (const id of hostile)
    ok(/^(~[0-9a-f]{64}|-rf)$/.test(fileNameOf(id)), `${id} became ${fileNameOf(id)}`);
  strictEqual(new Set(hostile.map(fileNameOf)).size, hostile.length);
  for (const id of ['V1StGXR8_Z5jdHi6B-myT', '0190a0c4-7e8d-7c1e-9a44-0d6ac3b9e0f1'])
    strictEqual(fileNameOf(id), id);
});

test('pruned jobs lose their files, others keep them', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'any' }, { target: 'any' }]);
  const projection = await projectionOf(bench);
  await drain(projection);
  const [gone] = jobs;
  ok(gone);
  await bench.store.transaction(0, async (tx) => tx.jobs.remove([gone.no]));
  await projection.removeFiles([gone.id, '../../outside']);
  await drain(projection);
  await assertComplete(bench);
});

test('a job file that cannot be written is tried again, and nothing is skipped', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'any' }, { target: 'any' }]);
  const inTheWay = `${jobFile(bench, jobs[0]?.id ?? '')}.tmp`;
  const projection = await projectionOf(bench);
  mkdirSync(inTheWay);
  let failure: unknown;
  await projection.runOnce().catch((error: unknown) => (failure = error));
  ok(failure instanceof Error);
  rmSync(inTheWay, { recursive: true });
  appendFileSync(eventFile(bench, jobs[0]?.id ?? ''), '{"t":"half a li');
  await drain(await projectionOf(bench));
  await assertComplete(bench);
});
