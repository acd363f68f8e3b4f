import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ResourceLimits, Worker } from 'node:worker_threads';
import { filesThread } from '../../src/app/files.ts';
import { FilesWriter } from '../../src/app/files-writer.ts';
import { readJournal } from '../../src/files/journal-read.ts';
import { ChangeProbe } from '../../src/files/change-probe.ts';
import { compareFiles } from '../../src/files/startup-check.ts';
import type { Duty } from '../../src/loops/loop.ts';
import { ThreadDied } from '../../src/runtime/thread.ts';
import { plan } from '../support/scheduling.ts';
import { type Bench, everything, HEAD, LEFT, openBench } from './fixture.ts';

interface Writing extends AsyncDisposable {
  readonly writer: FilesWriter;
  readonly journal: Duty;
  readonly files: Duty;
  /** Every thread that was started, the last one last. */
  readonly threads: readonly Worker[];
}

async function writerOf(bench: Bench, limits: readonly ResourceLimits[] = []): Promise<Writing> {
  const { dir, store, clock } = bench;
  const threads: Worker[] = [];
  const startupCheck = await compareFiles(dir, store);
  const data = {
    dir,
    identity: store.identity,
    database: { sqliteFile: path.join(dir, 'spine.db') },
  };
  const writer = new FilesWriter({
    startupCheck,
    changeProbe: await ChangeProbe.since(store.read, startupCheck),
    clock,
    busy: () => 0,
    startThread: () => {
      const thread = filesThread(data, limits[threads.length]);
      threads.push(thread);
      return thread;
    },
  });
  const [journal, files] = writer.duties as [Duty, Duty];
  return { writer, journal, files, threads, [Symbol.asyncDispose]: () => writer.close() };
}

/** The journal's places in the feed, as they stand there, and what else its lines say. */
async function journalOf(bench: Bench): Promise<{ places: string[]; pruned: string[]; pauses: number }> {
  const found = { places: [] as string[], pruned: [] as string[], pauses: 0 };
  for await (const { line, where } of readJournal(path.join(bench.dir, 'journal'))) {
    ok(line, `${where} cannot be read`);
    if ('pos' in line) found.places.push(`${line.pos}.${line.ordinal}`);
    if ('pruned' in line) found.pruned.push(...line.pruned);
    if ('pauses' in line) found.pauses = line.pauses.length;
  }
  return found;
}

async function feedPlaces({ store }: Bench): Promise<string[]> {
  const events = await store.read.feed.after({ pos: 0, ordinal: 0 }, 100_000);
  return events.map(({ pos, ordinal }) => `${pos}.${ordinal}`);
}

const jobFile = ({ dir }: Bench, id: string): string => path.join(dir, 'jobs', `${id}.json`);
const eventFile = ({ dir }: Bench, id: string): string => path.join(dir, 'events', `${id}.jsonl`);

/** The journal and every job's files hold each event once and in order. */
async function assertWritten(bench: Bench): Promise<void> {
  deepStrictEqual((await journalOf(bench)).places, await feedPlaces(bench));
  for (const { job, events } of await everything(bench.store)) {
    const document = JSON.parse(readFileSync(jobFile(bench, job.id), 'utf8')) as { state: string };
    strictEqual(document.state, job.state);
    const lines = readFileSync(eventFile(bench, job.id), 'utf8').trimEnd().split('\n');
    deepStrictEqual(
      lines.map((line) => (JSON.parse(line) as { seq: number }).seq),
      events.map(({ seq }) => seq),
    );
  }
}

/** One job from its creation to its end, and one that is left. */
async function work({ engine }: Bench): Promise<void> {
  await engine.jobs.create(HEAD, [{ target: 'any', spec: 'x'.repeat(300) }, { target: 'right-claw' }]);
  for (const { job } of await engine.leases.claimNext(LEFT, { targets: ['any'], max: 1, waitMs: 0 }))
    await engine.leases.complete(LEFT, job.id, job.leaseToken, { done: job.no });
}

function statusOf({ writer }: Writing): Record<'journal' | 'files', { pos: number; lagMs: number }> {
  return writer.status() as Record<'journal' | 'files', { pos: number; lagMs: number }>;
}

test('the thread that writes the files starts when there is something to write, and not before', async () => {
  await using bench = openBench();
  await using writing = await writerOf(bench);
  deepStrictEqual(await writing.journal.runOnce(), { done: 0, more: false });
  deepStrictEqual(await writing.files.runOnce(), { done: 0, more: false });
  strictEqual(writing.threads.length, 0);
  await work(bench);
  strictEqual((await writing.journal.runOnce()).done, 4);
  strictEqual((await writing.files.runOnce()).done, 4);
  strictEqual(writing.threads.length, 1);
  await assertWritten(bench);
  const { journal, files } = statusOf(writing);
  const { pos } = await bench.store.read.feed.end();
  deepStrictEqual([journal.pos, files.pos], [pos, pos]);
  deepStrictEqual([journal.lagMs, files.lagMs], [0, 0]);
});

test('a pause, a type, a pool or a schedule is something to write, though it has no event', async () => {
  const changes: readonly ((bench: Bench) => Promise<unknown>)[] = [
    ({ engine }) => engine.routing.pause(HEAD, 'target', 'right-claw'),
    ({ engine }) => engine.types.save(HEAD, { name: 'review' }),
    ({ engine }) => engine.pools.save(HEAD, { name: 'gpu', capacity: 2, perKey: 1 }),
    (bench) => plan(bench, { name: 'nightly', every: '1h' }),
  ];
  for (const change of changes) {
    await using bench = openBench();
    const startupCheck = await compareFiles(bench.dir, bench.store);
    const changeProbe = await ChangeProbe.since(bench.store.read, startupCheck);
    strictEqual(await changeProbe?.look(), false);
    await change(bench);
    strictEqual(await changeProbe?.look(), true);
    strictEqual(await ChangeProbe.since(bench.store.read, startupCheck), null);
  }
});

test('what was committed before the close is written by it, also by a thread that starts only then', async () => {
  await using bench = openBench();
  const writing = await writerOf(bench);
  for (let i = 0; i < 50; i++) await work(bench);
  await bench.engine.routing.pause(HEAD, 'target', 'right-claw');
  await writing.writer.close();
  strictEqual(writing.threads.length, 1);
  await assertWritten(bench);
  strictEqual((await journalOf(bench)).pauses, 1);

  await bench.reopen();
  await using again = await writerOf(bench);
  await again.journal.runOnce();
  strictEqual(again.threads.length, 0, 'nothing has happened since');
});

test('a change just before the close is in the files, however short ago they were looked at', async () => {
  await using bench = openBench();
  const { writer, journal, files } = await writerOf(bench);
  await work(bench);
  await journal.runOnce();
  await files.runOnce();
  await bench.engine.routing.pause(HEAD, 'target', 'right-claw');
  await bench.engine.types.save(HEAD, { name: 'late' });
  await writer.close();
  strictEqual((await journalOf(bench)).pauses, 1);
  ok(existsSync(path.join(bench.dir, 'types', 'late.json')));
});

test('the files of forgotten jobs are gone when forgetting resolves, and the journal says so', async () => {
  await using bench = openBench();
  const writing = await writerOf(bench);
  await work(bench);
  await writing.journal.runOnce();
  await writing.files.runOnce();
  const ids = (await everything(bench.store)).map(({ job }) => job.id);
  const [id = ''] = ids;
  ok(existsSync(jobFile(bench, id)) && existsSync(eventFile(bench, id)));
  await writing.writer.forget([id]);
  ok(!existsSync(jobFile(bench, id)) && !existsSync(eventFile(bench, id)));
  // The thread that was told dies; the next one writes the line.
  await writing.threads[0]?.terminate();
  await writing.writer.close();
  strictEqual(writing.threads.length, 2);
  deepStrictEqual((await journalOf(bench)).pruned, [id]);
});

test('a thread that is killed again and again loses no line and repeats none [SP-37 SP-39]', async () => {
  await using bench = openBench();
  const writing = await writerOf(bench);
  const follow = async (duty: Duty, isOver: () => boolean): Promise<number> => {
    let deaths = 0;
    while (!isOver()) {
      await duty.runOnce().catch((error: unknown) => {
        ok(error instanceof ThreadDied, String(error));
        deaths++;
      });
      await new Promise((resolve) => setImmediate(resolve));
    }
    return deaths;
  };
  let killed = 0;
  const isOver = (): boolean => killed === 8;
  const followers = [follow(writing.journal, isOver), follow(writing.files, isOver)];
  while (!isOver()) {
    for (let i = 0; i < 10; i++) await work(bench);
    // The moment of the kill is what is tested, so it is spread, not waited for.
    await sleep(60 + 17 * killed);
    await writing.threads.at(-1)?.terminate();
    killed++;
  }
  const deaths = await Promise.all(followers);
  ok(deaths[0] !== undefined && deaths[0] >= 4, `the journal noticed ${deaths[0]} deaths`);
  await writing.writer.close();
  ok(writing.threads.length > 4);
  await assertWritten(bench);
});

test('a thread that died while nobody waited for it is told of once, and then starts again', async () => {
  await using bench = openBench();
  await using writing = await writerOf(bench);
  await work(bench);
  await writing.journal.runOnce();
  await writing.threads[0]?.terminate();
  await rejects(writing.journal.runOnce(), /^Error: the thread ended: exit code 1$/);
  bench.clock.pass(5_000);
  ok(statusOf(writing).journal.lagMs >= 5_000);
  await work(bench);
  strictEqual((await writing.journal.runOnce()).done, 4);
  strictEqual(statusOf(writing).journal.lagMs, 0);
  strictEqual(writing.threads.length, 2);
});

test('a thread that runs out of memory fails its pass and nothing else', async () => {
  await using bench = openBench();
  await using writing = await writerOf(bench, [{ maxOldGenerationSizeMb: 12, maxYoungGenerationSizeMb: 2 }]);
  await bench.engine.jobs.create(
    HEAD,
    Array.from({ length: 60 }, () => ({ target: 'any', spec: 'x'.repeat(900_000) })),
  );
  const error: unknown = await writing.journal.runOnce().catch((error: unknown) => error);
  ok(error instanceof ThreadDied, String(error));
  match(error.message, /memory/);
  strictEqual((await writing.journal.runOnce()).done, 60);
  deepStrictEqual((await journalOf(bench)).places, await feedPlaces(bench));
});
