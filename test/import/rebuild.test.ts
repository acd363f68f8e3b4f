import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { FeedPlace } from '../../src/domain/event.ts';
import type { Job } from '../../src/domain/job.ts';
import { openJournal } from '../../src/files/journal.ts';
import { openProjection } from '../../src/files/projection.ts';
import type { Store } from '../../src/store/store.ts';
import {
  allJobs,
  type Bench,
  drain,
  type Everything,
  everything,
  HEAD,
  LEFT,
  makeWork,
  openBench,
  settleAll,
} from '../files/fixture.ts';
import { journalOf, rebuilt, writeAll } from './rebuilding.ts';

async function settingsOf({ read }: Store) {
  const { pauses } = await read.routing.current();
  return {
    types: await read.types.all(),
    pools: await read.pools.all(),
    pauses,
    counts: await read.counters.all(),
    feed: await read.feed.after({ pos: 0, ordinal: 0 }, 100_000),
  };
}

/** Settling leaves no event: when a parent settled, and its dependents looked again, may differ. */
function comparable(all: readonly Everything[]): object[] {
  return all.map(({ job, ...rest }) => ({
    job: { ...job, settled: 0, ...(job.state === 'blocked' && { updatedAt: 0 }) },
    ...rest,
  }));
}

test('the journal brings back every job as it was, and the database can go on', async () => {
  await using bench = openBench();
  await makeWork(bench);
  const journal = await journalOf(bench);
  await drain(journal);
  await journal.close();
  const { other, report } = await rebuilt(bench);
  deepStrictEqual(await everything(other.store), await everything(bench.store));
  deepStrictEqual(await settingsOf(other.store), await settingsOf(bench.store));
  const jobs = await allJobs(bench.store);
  deepStrictEqual(
    { ...report, events: 0 },
    { from: 'journal', jobs: jobs.length, events: 0, blobs: 0, schedules: 0, unreadable: [], uncertain: 0 },
  );
  // The holder of a lease goes on with it, and new events get new places.
  const running = jobs.find(
    ({ state, title }: Job & { title?: string }) => state === 'running' && title === undefined,
  );
  ok(running?.leaseToken);
  await other.engine.leases.complete(LEFT, running.id, running.leaseToken, 'after the rebuild');
  await other.engine.jobs.comment(HEAD, running.id, 'and a comment');
  const made = await other.engine.jobs.create(HEAD, [{ target: 'any' }]);
  ok((made.jobs[0]?.no ?? 0) > (jobs.at(-1)?.no ?? 0));
  // Its journal and its files go on as well.
  const again = await openJournal({
    dir: path.join(bench.dir, 'journal'),
    store: other.store,
    clock: bench.clock,
  });
  strictEqual(again.setAside, null);
  strictEqual(await drain(again), 3);
  await again.close();
  await other.store.close();
});

test('writing the journal in small steps, between restarts, and rewriting it brings back the same', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench, { segmentBytes: 3_000, compactAboveBytes: 6_000 });
  await bench.engine.jobs.create(HEAD, [{ target: 'left-claw', spec: 'early' }]);
  await journal.runOnce();
  await makeWork(bench);
  await journal.runOnce();
  const jobs = await allJobs(bench.store);
  for (const job of jobs.filter(({ state }) => state === 'queued'))
    await bench.engine.jobs.comment(HEAD, job.id, 'one more');
  await journal.runOnce();
  const running = jobs.find(({ state }) => state === 'running');
  await bench.engine.leases.complete(LEFT, running?.id ?? '', running?.leaseToken ?? null, {
    big: 'x'.repeat(5_000),
  });
  await settleAll(bench.engine, bench.store);
  await drain(journal);
  await journal.close();
  const { other } = await rebuilt(bench);
  // Settling leaves no event, so the rebuilt database settles some parents once more.
  await settleAll(other.engine, other.store);
  deepStrictEqual(comparable(await everything(other.store)), comparable(await everything(bench.store)));
  await other.store.close();
});

test('a journal that lags, is killed between its passes and is rewritten meanwhile brings back the same', async () => {
  for (const restarts of [false, true]) {
    await using bench = openBench();
    const { identity, read } = bench.store;
    const entries = (after: FeedPlace) => read.feed.entries(after, 2);
    const slow = { ...read, feed: { ...read.feed, entries } };
    const open = () =>
      journalOf(bench, { store: { identity, read: slow }, segmentBytes: 2_000, compactAboveBytes: 4_000 });
    let journal = await open();
    const pass = async (): Promise<void> => {
      await journal.runOnce();
      if (!restarts) return;
      await journal.close();
      journal = await open();
    };
    await makeWork(bench);
    for (const job of await allJobs(bench.store)) {
      await bench.engine.jobs.comment(HEAD, job.id, 'one more');
      await pass();
      if (job.state !== 'running') continue;
      await bench.engine.leases.heartbeat(LEFT, job.id, job.leaseToken, { pct: 1 });
      await pass();
      await bench.engine.leases.fail(LEFT, job.id, job.leaseToken, 'not yet', false);
      await bench.engine.jobs.retry(HEAD, job.id);
      const next = await bench.engine.leases.claim(LEFT, job.id);
      await pass();
      await bench.engine.leases.complete(LEFT, job.id, next.job.leaseToken, 'at last');
    }
    await settleAll(bench.engine, bench.store);
    await drain(journal);
    await journal.close();
    const { other } = await rebuilt(bench);
    await settleAll(other.engine, other.store);
    deepStrictEqual(comparable(await everything(other.store)), comparable(await everything(bench.store)));
    await other.store.close();
  }
});

test('pruned jobs stay away', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench);
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'any' }, { target: 'any' }]);
  await drain(journal);
  const [gone] = jobs;
  ok(gone);
  await bench.store.transaction(0, async (tx) => {
    await tx.jobs.remove([gone.no]);
    await tx.counters.add('x', [{ target: 'any', state: 'queued', by: -1 }]);
  });
  journal.prune([gone.id]);
  await drain(journal);
  await journal.close();
  const { other, report } = await rebuilt(bench);
  strictEqual(report.jobs, 1);
  deepStrictEqual(await everything(other.store), await everything(bench.store));
  deepStrictEqual(await other.store.read.counters.all(), await bench.store.read.counters.all());
  await other.store.close();
});

test('a job that is pruned before the journal has told of its end stays away', async () => {
  for (const passes of [0, 1, 2, 3, 4]) {
    await using bench = openBench();
    const { identity, read } = bench.store;
    const entries = (after: FeedPlace) => read.feed.entries(after, 1);
    const slow = { ...read, feed: { ...read.feed, entries } };
    const journal = await journalOf(bench, { store: { identity, read: slow } });
    const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'left-claw' }]);
    const id = jobs[0]?.id ?? '';
    const { job } = await bench.engine.leases.claim(LEFT, id);
    for (let pass = 0; pass < passes; pass++) await journal.runOnce();
    await bench.engine.leases.complete(LEFT, id, job.leaseToken, null);
    await bench.engine.jobs.create(HEAD, [{ target: 'any' }]);
    await bench.store.transaction(0, async (tx) => {
      await tx.jobs.remove([job.no]);
      await tx.counters.add('x', [{ target: 'left-claw', state: 'done', by: -1 }]);
    });
    journal.prune([id]);
    await drain(journal);
    await journal.close();
    const { other } = await rebuilt(bench);
    deepStrictEqual(await everything(other.store), await everything(bench.store));
    deepStrictEqual(await settingsOf(other.store), await settingsOf(bench.store));
    await other.store.close();
  }
});

test('a journal that ends anywhere gives whole jobs with gap-free histories, and no job it names is missing', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench);
  await makeWork(bench);
  await drain(journal);
  await journal.close();
  const file = path.join(bench.dir, 'journal', '000001.jsonl');
  const whole = readFileSync(file);
  const ends = [...whole.keys()].filter((at) => whole[at] === 10);
  for (const end of ends) {
    writeFileSync(file, whole);
    truncateSync(file, end + 1);
    const { other } = await rebuilt(bench);
    const named = new Set(
      whole
        .toString('utf8', 0, end)
        .split('\n')
        .flatMap((line) => /"jobNo":(\d+)/.exec(line)?.[1] ?? []),
    );
    const all = await everything(other.store);
    deepStrictEqual(new Set(all.map(({ job }) => String(job.no))), named);
    for (const { job, events } of all) {
      deepStrictEqual(
        events.map(({ seq }) => seq),
        Array.from({ length: job.seq }, (_, i) => i + 1),
      );
    }
    strictEqual(
      (await other.store.read.counters.all()).reduce((sum, { n }) => sum + n, 0),
      all.length,
    );
    await other.store.close();
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(path.join(bench.dir, `spine.db.new${suffix}`), { force: true });
  }
});

test('a lineage goes on wherever the journal ends: its failed member gets one retry, and no second one', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [
    { target: 'any', retry: { mode: 'lineage', max: 2 } },
  ]);
  const [first] = jobs as [Job];
  const { job: held } = await bench.engine.leases.claim(LEFT, first.id);
  await bench.engine.leases.fail(LEFT, first.id, held.leaseToken, 'no luck', true);
  await settleAll(bench.engine, bench.store);
  await writeAll(bench);
  const file = path.join(bench.dir, 'journal', '000001.jsonl');
  const whole = readFileSync(file);
  const ends = [...whole.keys()].filter((at) => whole[at] === 10);
  let failed = 0;
  for (const end of ends) {
    writeFileSync(file, whole.subarray(0, end + 1));
    const { other } = await rebuilt(bench);
    await settleAll(other.engine, other.store);
    const [member, ...later] = await allJobs(other.store);
    if (member?.state === 'failed') {
      failed++;
      deepStrictEqual(
        later.map(({ retryOf, retryCount }) => [retryOf, retryCount]),
        [[first.no, 1]],
      );
    }
    await other.store.close();
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(path.join(bench.dir, `spine.db.new${suffix}`), { force: true });
  }
  ok(failed > 1, 'the journal was cut before and after the retry');
});

test('what the journal says twice is brought back once', async () => {
  await using bench = openBench();
  await makeWork(bench);
  await writeAll(bench);
  const file = path.join(bench.dir, 'journal', '000001.jsonl');
  const lines = readFileSync(file, 'utf8').split(/(?<=\n)/);
  writeFileSync(file, lines.flatMap((line) => (line.includes('"event":') ? [line, line] : [line])).join(''));
  const { other, report } = await rebuilt(bench);
  const told = await feedOf(bench.store);
  strictEqual(report.events, told.length);
  deepStrictEqual(await feedOf(other.store), told);
  deepStrictEqual(
    (await everything(other.store)).map(({ events }) => events),
    (await everything(bench.store)).map(({ events }) => events),
  );
  await other.store.close();
});

/** Every event as readers of the feed are told of it. */
async function feedOf({ read }: Store): Promise<string[]> {
  const entries = await read.feed.after({ pos: 0, ordinal: 0 }, 1_000);
  return entries.map(({ jobNo, seq, kind }) => `${jobNo} ${seq} ${kind}`);
}

test('a damaged line is named, and the rest is brought back', async () => {
  await using bench = openBench();
  await bench.engine.jobs.create(HEAD, [{ target: 'any' }, { target: 'any' }, { target: 'any' }]);
  const journal = await journalOf(bench);
  await drain(journal);
  await journal.close();
  const file = path.join(bench.dir, 'journal', '000001.jsonl');
  const lines = readFileSync(file, 'utf8').split('\n');
  const second = lines.findIndex((line) => line.includes('"jobNo":2'));
  lines[second] = `#${lines[second]?.slice(1)}`;
  writeFileSync(file, lines.join('\n'));
  const { other, report } = await rebuilt(bench);
  deepStrictEqual(report.unreadable, [`000001.jsonl:${second + 1}`]);
  deepStrictEqual(
    (await allJobs(other.store)).map(({ no }) => no),
    [1, 3],
  );
  await other.store.close();
});

test("a uniqueKey that changed hands behind the journal's back does not stop the rebuild", async () => {
  await using bench = openBench();
  const journal = await journalOf(bench);
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'left-claw', uniqueKey: 'k' }]);
  const [first] = jobs;
  ok(first);
  await drain(journal);
  await bench.engine.jobs.cancel(HEAD, first.id, null);
  await bench.engine.jobs.create(HEAD, [{ target: 'left-claw', uniqueKey: 'k' }]);
  await drain(journal);
  await journal.close();
  const file = path.join(bench.dir, 'journal', '000001.jsonl');
  const whole = readFileSync(file, 'utf8');
  // As if the line of the first one's end were lost.
  writeFileSync(
    file,
    whole
      .split('\n')
      .filter((line) => !line.includes('job.cancelled'))
      .join('\n'),
  );
  const { other, report } = await rebuilt(bench);
  strictEqual(report.uncertain, 1);
  deepStrictEqual(
    (await allJobs(other.store)).map(({ state }) => state),
    ['failed', 'queued'],
  );
  await other.store.close();
});

test('dependents of a job that had ended are admitted again by the settling loop', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'left-claw' }, { target: 'left-claw' }]);
  const [a, b] = jobs as [Job, Job];
  await bench.engine.jobs.create(HEAD, [{ target: 'any', after: [{ job: a.id }, { job: b.id }] }]);
  const { settle } = await import('../../src/engine/settling.ts');
  const finish = async (on: Bench, job: Job): Promise<void> => {
    const { job: held } = await on.engine.leases.claim(LEFT, job.id);
    await on.engine.leases.complete(LEFT, job.id, held.leaseToken, null);
    await settle(on.engine.core, await on.store.read.jobs.unsettled(10));
  };
  await finish(bench, a);
  const journal = await journalOf(bench);
  await drain(journal);
  await journal.close();
  const { other } = await rebuilt(bench);
  await settle(other.engine.core, await other.store.read.jobs.unsettled(10));
  strictEqual((await allJobs(other.store))[2]?.waitingFor, 1);
  await finish(other, b);
  strictEqual((await allJobs(other.store))[2]?.state, 'queued');
  await other.store.close();
});

test('without a journal the readable files bring the jobs back', async () => {
  await using bench = openBench();
  await makeWork(bench);
  await drain(await openProjection({ dir: bench.dir, store: bench.store, clock: bench.clock }));
  const { other, report } = await rebuilt(bench);
  strictEqual(report.from, 'files');
  const before = await everything(bench.store);
  const after = await everything(other.store);
  const comparable = (all: typeof before) =>
    all.map(({ job, details, events, questions, checkpoint }) => ({
      id: job.id,
      question: job.question,
      blockedOn: job.blockedOn,
      questions,
      checkpoint,
      no: job.no,
      state: job.state,
      target: job.target,
      attempts: job.attempts,
      priority: job.priority,
      type: details?.typeName,
      input: { ...details?.input, spec: details?.input.spec ?? '""', meta: details?.input.meta ?? '{}' },
      result: details?.result,
      error: details?.error,
      comments: details?.comments,
      parent: details?.parentId,
      retryOf: details?.retryOfId,
      leaseUntil: job.leaseUntil,
      claimedBy: job.claimedBy,
      uniqueKey: job.uniqueKey,
      pool: job.pool,
      waitingFor: job.waitingFor,
      kinds: events.map(({ kind }) => kind).filter((kind) => kind !== 'job.imported'),
    }));
  deepStrictEqual(comparable(after), comparable(before));
  await other.store.close();
});
