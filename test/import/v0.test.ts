import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openProjection } from '../../src/files/projection.ts';
import { importSummary, importV0, type V0Report } from '../../src/import/v0.ts';
import type { Store, Tx } from '../../src/store/store.ts';
import { allJobs, type Bench, drain, LEFT, makeDir, openBench } from '../files/fixture.ts';

const T0 = Date.parse('2026-01-02T03:04:05.678Z');
const iso = (ms: number): string => new Date(T0 + ms).toISOString();

interface V0 {
  readonly id: string;
  readonly [field: string]: unknown;
}

function v0Job(id: string, at: number, more: object = {}): V0 {
  return {
    id,
    target: 'left-claw',
    status: 'queued',
    createdAt: iso(at),
    updatedAt: iso(at),
    createdBy: 'head',
    claimedBy: null,
    leaseUntil: null,
    attempts: 0,
    maxAttempts: 5,
    spec: '',
    meta: {},
    comments: [],
    result: null,
    error: null,
    ...more,
  };
}

/** A data dir as v0 leaves it, after a crash even: with a lock and a temp file. */
function makeV0Dir(): { dir: string; jobs: V0[] } {
  const dir = makeDir();
  for (const folder of ['jobs', 'events', 'blobs']) mkdirSync(path.join(dir, folder));
  const jobs = [
    v0Job('V1StGXR8_Z5jdHi6B-myT', 3, {
      status: 'running',
      claimedBy: 'left-claw',
      leaseUntil: iso(300_000),
      attempts: 2,
      progress: { pct: 10 },
    }),
    v0Job('aaaaaaaaaaaaaaaaaaaaa', 1, {
      status: 'done',
      claimedBy: 'right-claw',
      target: 'right-claw',
      attempts: 1,
      result: { ok: ['ü', 1] },
      spec: { deep: [1, { x: null }] },
    }),
    v0Job('bbbbbbbbbbbbbbbbbbbbb', 2, {
      error: 'went wrong',
      attempts: 1,
      releaseReason: 'tired',
      comments: [
        { t: iso(9), by: 'head', text: 'hello' },
        { t: iso(10), by: 'left-claw', text: '' },
      ],
    }),
    v0Job('ccccccccccccccccccccc', 4, {
      status: 'failed',
      target: 'any',
      attempts: 1,
      error: { code: 7 },
      custom: 'kept',
    }),
    v0Job('ddddddddddddddddddddd', 5, { status: 'dead', target: 'any', attempts: 5 }),
  ];
  for (const job of jobs) {
    writeFileSync(path.join(dir, 'jobs', `${job.id}.json`), JSON.stringify(job, null, 2));
    writeFileSync(
      path.join(dir, 'events', `${job.id}.jsonl`),
      `${JSON.stringify({ t: job['createdAt'], type: 'job.created', by: 'head', target: job['target'] })}\n`,
    );
  }
  const log = path.join(dir, 'events', `${jobs[0]?.id}.jsonl`);
  const more = [
    JSON.stringify({ t: iso(4), type: 'job.claimed', by: 'left-claw', leaseUntil: iso(300_000), attempt: 1 }),
    JSON.stringify({ t: iso(5), type: 'job.sneezed', by: 'left-claw', loud: true }),
    'not json at all',
    JSON.stringify({ t: iso(6), type: 'job.heartbeat', by: 'left-claw', progress: { pct: 10 } }),
  ];
  writeFileSync(log, `${readFileSync(log, 'utf8')}${more.join('\n')}\n`);
  writeFileSync(path.join(dir, 'jobs', `${jobs[0]?.id}.lock`), '');
  writeFileSync(path.join(dir, 'jobs', `${jobs[1]?.id}.json.tmp.123.456`), '{"id":');
  writeFileSync(path.join(dir, 'blobs', 'bbbbbbbbbbbbbbbbbbbb1.png'), 'png bytes');
  writeFileSync(path.join(dir, 'blobs', 'bbbbbbbbbbbbbbbbbbbb2'), 'bytes');
  return { dir, jobs };
}

const defaults = { leaseMs: 300_000, maxAttempts: 5 };

function take(bench: Bench, store: Store = bench.store): Promise<V0Report | null> {
  return importV0({ dir: bench.dir, store, now: T0 + 100_000, defaults });
}

test('a v0 data dir is taken over with nothing lost, oldest job first [SP-06]', async () => {
  const { dir, jobs } = makeV0Dir();
  await using bench = openBench(dir);
  const report = await take(bench);
  deepStrictEqual(report && { ...report, unreadable: report.unreadable.length }, {
    jobs: 5,
    already: 0,
    events: 14,
    blobs: 2,
    unreadable: 0,
  });
  const rows = await allJobs(bench.store);
  deepStrictEqual(
    rows.map(({ id }) => id),
    jobs.toSorted((a, b) => String(a['createdAt']).localeCompare(String(b['createdAt']))).map(({ id }) => id),
  );
  const details = await bench.store.read.details.of(rows);
  for (const row of rows) {
    const v0 = jobs.find(({ id }) => id === row.id);
    const { input, result, error, comments } = details.get(row.no) ?? {};
    deepStrictEqual(
      {
        target: row.target,
        status: row.state,
        createdAt: row.createdAt,
        createdBy: row.createdBy,
        claimedBy: row.claimedBy,
        leaseUntil: row.leaseUntil,
        attempts: row.attempts,
        maxAttempts: row.maxAttempts,
        progress: JSON.parse(row.progress ?? 'null') as unknown,
        releaseReason: row.reason,
        spec: JSON.parse(input?.spec ?? 'null') as unknown,
        meta: JSON.parse(input?.meta ?? 'null') as unknown,
        result: JSON.parse(result ?? 'null') as unknown,
        error: JSON.parse(error ?? 'null') as unknown,
        comments: comments?.map(({ at, by, text }) => ({ t: new Date(at).toISOString(), by, text })),
      },
      {
        target: v0?.['target'],
        status: v0?.['status'],
        createdAt: Date.parse(String(v0?.['createdAt'])),
        createdBy: 'head',
        claimedBy: v0?.['claimedBy'],
        leaseUntil: typeof v0?.['leaseUntil'] === 'string' ? Date.parse(v0['leaseUntil']) : null,
        attempts: v0?.['attempts'],
        maxAttempts: 5,
        progress: v0?.['progress'] ?? null,
        releaseReason: v0?.['releaseReason'] ?? null,
        spec: v0?.['spec'],
        meta: {},
        result: v0?.['result'],
        error: v0?.['error'],
        comments: v0?.['comments'],
      },
    );
  }
  deepStrictEqual(
    Object.fromEntries(
      (await bench.engine.counts()).map(({ target, state, n }) => [`${target} ${state}`, n]),
    ),
    {
      'any dead': 1,
      'any failed': 1,
      'left-claw queued': 1,
      'left-claw running': 1,
      'right-claw done': 1,
    },
  );
});

test('the event lines of v0 are kept in their order, with kinds and facts that Spine does not know [SP-39]', async () => {
  const { dir, jobs } = makeV0Dir();
  await using bench = openBench(dir);
  await take(bench);
  const job = await bench.store.read.jobs.byId(jobs[0]?.id ?? '');
  const events = await bench.store.read.feed.ofJob(job?.no ?? 0, 0, 100);
  deepStrictEqual(
    events.map(({ seq, kind, facts }) => [seq, kind, facts]),
    [
      [1, 'job.created', { target: 'left-claw' }],
      [2, 'job.claimed', { leaseUntil: iso(300_000), attempt: 1 }],
      [3, 'job.sneezed', { loud: true }],
      [4, 'job.unreadable', { line: 'not json at all' }],
      [5, 'job.heartbeat', { progress: { pct: 10 } }],
      [6, 'job.imported', { from: `${jobs[0]?.id}.json`, status: 'running' }],
    ],
  );
  strictEqual(job?.seq, 6);
  const custom = await bench.store.read.jobs.byId('ccccccccccccccccccccc');
  const [, imported] = await bench.store.read.feed.ofJob(custom?.no ?? 0, 0, 100);
  deepStrictEqual(imported?.facts?.['extra'], { custom: 'kept' });
});

test('a worker of v0 goes on with its running job, without a lease token', async () => {
  const { dir, jobs } = makeV0Dir();
  await using bench = openBench(dir);
  await take(bench);
  const id = jobs[0]?.id ?? '';
  await bench.engine.leases.heartbeat(LEFT, id, null, { pct: 90 });
  const { job } = await bench.engine.leases.complete(LEFT, id, null, 'finished');
  strictEqual(job.state, 'done');
  await bench.engine.jobs.comment(LEFT, 'bbbbbbbbbbbbbbbbbbbbb', 'a third');
  const commented = await bench.store.read.jobs.byId('bbbbbbbbbbbbbbbbbbbbb');
  deepStrictEqual(
    (await bench.store.read.comments.after(commented?.no ?? 0, 0, 9)).map(({ text }) => text),
    ['hello', '', 'a third'],
  );
});

test('the files of v0 become the projection: their lines stay and new ones follow [SP-39]', async () => {
  const { dir, jobs } = makeV0Dir();
  const names = readdirSync(path.join(dir, 'jobs'));
  await using bench = openBench(dir);
  await take(bench);
  const id = jobs[0]?.id ?? '';
  const before = readFileSync(path.join(dir, 'events', `${id}.jsonl`), 'utf8');
  const projection = await openProjection({ dir, store: bench.store, clock: bench.clock });
  await bench.engine.leases.heartbeat(LEFT, id, null, null);
  await drain(projection);
  const after = readFileSync(path.join(dir, 'events', `${id}.jsonl`), 'utf8');
  ok(after.startsWith(before), 'a line of v0 was changed');
  deepStrictEqual(
    after
      .slice(before.length, -1)
      .split('\n')
      .map((line) => JSON.parse(line) as { seq: number; type: string })
      .map(({ seq, type }) => [seq, type]),
    [
      [6, 'job.imported'],
      [7, 'job.heartbeat'],
    ],
  );
  deepStrictEqual(new Set(readdirSync(path.join(dir, 'jobs'))), new Set(names));
  const shown = JSON.parse(readFileSync(path.join(dir, 'jobs', `${id}.json`), 'utf8')) as V0;
  const known = { ...jobs[0], updatedAt: shown['updatedAt'], leaseUntil: shown['leaseUntil'] };
  for (const [name, value] of Object.entries(known)) deepStrictEqual(shown[name], value, name);
});

test('files that are no jobs are counted and named, and stop nothing', async () => {
  const { dir } = makeV0Dir();
  writeFileSync(path.join(dir, 'jobs', 'broken.json'), '{"id": "x"');
  writeFileSync(path.join(dir, 'jobs', 'list.json'), '[]');
  writeFileSync(path.join(dir, 'jobs', 'noid.json'), '{"status":"queued"}');
  mkdirSync(path.join(dir, 'jobs', 'folder.json'));
  await using bench = openBench(dir);
  const report = await take(bench);
  ok(report);
  strictEqual(
    importSummary(report),
    'imported 5 jobs, 4 files were not readable: broken.json (not valid JSON), folder.json (not a plain file), list.json (not a job), noid.json (not a job: no id)',
  );
});

test('an import that is killed at any transaction is finished by the next start, without a job twice', async () => {
  for (let killAt = 0; killAt < 5; killAt++) {
    const { dir } = makeV0Dir();
    for (let i = 0; i < 210; i++)
      writeFileSync(path.join(dir, 'jobs', `many-${i}.json`), JSON.stringify(v0Job(`many-${i}`, 100 + i)));
    await using bench = openBench(dir);
    let failure: unknown;
    await take(bench, dyingStore(bench.store, killAt)).catch((error: unknown) => (failure = error));
    const report = await take(bench);
    strictEqual((report?.jobs ?? 0) + (report?.already ?? 0), failure ? 215 : 0, `killed at ${killAt}`);
    const rows = await allJobs(bench.store);
    strictEqual(rows.length, 215);
    deepStrictEqual(
      rows.map(({ createdAt }) => createdAt),
      rows.map(({ createdAt }) => createdAt).toSorted((a, b) => a - b),
    );
    strictEqual(new Set(rows.map(({ id }) => id)).size, 215);
    strictEqual(
      (await bench.engine.counts()).reduce((sum, { n }) => sum + n, 0),
      215,
    );
    strictEqual(await take(bench), null);
  }
});

/** Fails like a process that is killed: nothing of that transaction happens. */
function dyingStore(store: Store, killAt: number): Store {
  let transactions = 0;
  return {
    ...store,
    read: store.read,
    transaction: <T>(lane: number, work: (tx: Tx) => Promise<T>): Promise<T> =>
      store.transaction(lane, async (tx) => {
        const value = await work(tx);
        if (transactions++ === killAt) throw new Error('killed');
        return value;
      }),
  };
}

test('blobs of v0 can be found by their ids', async () => {
  const { dir } = makeV0Dir();
  await using bench = openBench(dir);
  await take(bench);
  const blob = await bench.store.read.blobs.byId('bbbbbbbbbbbbbbbbbbbb1');
  strictEqual(blob?.filename, 'bbbbbbbbbbbbbbbbbbbb1.png');
  strictEqual(blob.size, 9);
  strictEqual(readFileSync(path.join(dir, 'blobs', 'bbbbbbbbbbbbbbbbbbbb1'), 'utf8'), 'png bytes');
  ok(readdirSync(path.join(dir, 'blobs')).includes('bbbbbbbbbbbbbbbbbbbb1.png'));
  strictEqual((await bench.store.read.blobs.byId('bbbbbbbbbbbbbbbbbbbb2'))?.size, 5);
});
