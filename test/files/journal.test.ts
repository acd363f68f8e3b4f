import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { FeedPlace } from '../../src/domain/event.ts';
import { type Journal, openJournal } from '../../src/files/journal.ts';
import type { JournalLine } from '../../src/files/journal-line.ts';
import { readJournal } from '../../src/files/journal-read.ts';
import { copyDatabase } from '../../src/store/sqlite-copy.ts';
import { allJobs, type Bench, drain, HEAD, LEFT, makeWork, openBench } from './fixture.ts';

const journalDir = (bench: Bench): string => path.join(bench.dir, 'journal');

function journalOf(
  bench: Bench,
  more: { segmentBytes?: number; compactAboveBytes?: number } = {},
): Promise<Journal> {
  return openJournal({ dir: journalDir(bench), store: bench.store, clock: bench.clock, ...more });
}

async function linesOf(bench: Bench): Promise<JournalLine[]> {
  const lines: JournalLine[] = [];
  for await (const { line, where } of readJournal(journalDir(bench))) {
    ok(line, `${where} cannot be read`);
    lines.push(line);
  }
  return lines;
}

async function places(bench: Bench): Promise<string[]> {
  return (await linesOf(bench)).flatMap((line) => ('pos' in line ? [`${line.pos}.${line.ordinal}`] : []));
}

async function feedPlaces(bench: Bench): Promise<string[]> {
  return (await bench.store.read.feed.after({ pos: 0, ordinal: 0 }, 100_000)).map(
    ({ pos, ordinal }) => `${pos}.${ordinal}`,
  );
}

/** What the journal has rows of, as `job number.sequence of the row`. */
async function rowsOf(bench: Bench): Promise<string[]> {
  return (await linesOf(bench)).flatMap((line) =>
    'pos' in line && line.job ? [`${line.event.jobNo}.${line.job.seq}`] : [],
  );
}

/** A journal that comes to one event in each pass, long after it happened. */
function slowJournalOf(bench: Bench): Promise<Journal> {
  const { identity, read } = bench.store;
  const entries = (after: FeedPlace) => read.feed.entries(after, 1);
  const slow = { ...read, feed: { ...read.feed, entries } };
  return openJournal({ dir: journalDir(bench), store: { identity, read: slow }, clock: bench.clock });
}

test('every committed event has its line in the journal, in the order of the feed', async () => {
  await using bench = openBench();
  await makeWork(bench);
  const journal = await journalOf(bench);
  ok((await drain(journal)) > 20);
  deepStrictEqual(await places(bench), await feedPlaces(bench));
  strictEqual(journal.lagMs(), 0);
  strictEqual(statSync(path.join(journalDir(bench), '000001.jsonl')).mode & 0o777, 0o600);
  await journal.close();
});

test('what is appended is synced before the journal says that it is written', async (t) => {
  await using bench = openBench();
  await makeWork(bench);
  const probe = await open(path.join(bench.dir, 'probe'), 'w');
  // The class of all file handles, which Node does not export.
  const handles = Object.getPrototypeOf(probe) as FileHandle;
  await probe.close();
  const calls: string[] = [];
  for (const name of ['appendFile', 'datasync'] as const) {
    const original = handles[name] as (...args: unknown[]) => Promise<void>;
    t.mock.method(handles, name, function (this: FileHandle, ...args: unknown[]): Promise<void> {
      calls.push(name);
      return original.apply(this, args);
    });
  }
  const journal = await journalOf(bench);
  for (let pass = 0; pass < 3; pass++) {
    await bench.engine.jobs.create(HEAD, [{ target: 'any' }]);
    calls.length = 0;
    await journal.runOnce();
    deepStrictEqual([calls.includes('appendFile'), calls.at(-1)], [true, 'datasync']);
  }
  await journal.close();
});

test('a job whose row is in the journal as it is gets no second one with the events that led to it', async () => {
  await using bench = openBench();
  await makeWork(bench);
  const journal = await slowJournalOf(bench);
  await drain(journal);
  await journal.close();
  deepStrictEqual(await places(bench), await feedPlaces(bench));
  const jobs = await allJobs(bench.store);
  deepStrictEqual((await rowsOf(bench)).toSorted(), jobs.map(({ no, seq }) => `${no}.${seq}`).toSorted());
});

test('a row that changed since it was written stands in the journal again, with its outcome', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'left-claw' }]);
  const id = jobs[0]?.id ?? '';
  const { job } = await bench.engine.leases.claim(LEFT, id);
  const journal = await slowJournalOf(bench);
  await journal.runOnce();
  await bench.engine.leases.complete(LEFT, id, job.leaseToken, 'late');
  await drain(journal);
  await journal.close();
  deepStrictEqual(await rowsOf(bench), [`${job.no}.2`, `${job.no}.3`]);
  const last = (await linesOf(bench)).findLast((line) => 'pos' in line);
  strictEqual(last?.job?.state, 'done');
  deepStrictEqual(last.outcome, { result: '"late"', error: null });
});

test('a row whose write failed, and every row after a restart, is written again', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'left-claw' }]);
  const { job } = await bench.engine.leases.claim(LEFT, jobs[0]?.id ?? '');
  await bench.engine.leases.heartbeat(LEFT, job.id, job.leaseToken, null);
  let journal = await slowJournalOf(bench);
  const dir = journalDir(bench);
  rmSync(dir, { recursive: true });
  writeFileSync(dir, '');
  await rejects(journal.runOnce(), /ENOTDIR|EEXIST/);
  rmSync(dir);
  await journal.runOnce();
  await journal.runOnce();
  await journal.close();
  deepStrictEqual(await rowsOf(bench), [`${job.no}.3`]);
  journal = await slowJournalOf(bench);
  await drain(journal);
  await journal.close();
  deepStrictEqual(await rowsOf(bench), [`${job.no}.3`, `${job.no}.3`]);
});

test('events of jobs that were pruned before the journal came to them stay out of it', async () => {
  await using bench = openBench();
  const drafts = Array.from({ length: 6 }, () => ({ target: 'left-claw' }));
  const { jobs } = await bench.engine.jobs.create(HEAD, drafts);
  for (const { id } of jobs) await bench.engine.jobs.comment(HEAD, id, 'hello');
  const gone = [jobs[0], jobs[2], jobs[5]].flatMap((job) => job?.no ?? []);
  await bench.store.transaction(0, async (tx) => tx.jobs.remove(gone));
  const journal = await journalOf(bench);
  strictEqual(await drain(journal), 12);
  deepStrictEqual(journal.watermark(), await bench.store.read.feed.end());
  await journal.close();
  deepStrictEqual(await places(bench), await feedPlaces(bench));
  const named = (await linesOf(bench)).flatMap((line) => ('pos' in line ? [line.event.jobNo] : []));
  deepStrictEqual([...new Set(named)], [jobs[1]?.no, jobs[3]?.no, jobs[4]?.no]);
});

test('a job that is pruned while the journal is on its way to its row is not named', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'any' }, { target: 'any' }]);
  const { identity, read } = bench.store;
  const pruning = async (nos: readonly number[]) => {
    await bench.store.transaction(0, async (tx) => tx.jobs.remove([jobs[0]?.no ?? 0]));
    return read.jobs.byNo(nos);
  };
  const store = { identity, read: { ...read, jobs: { ...read.jobs, byNo: pruning } } };
  const journal = await openJournal({ dir: journalDir(bench), store, clock: bench.clock });
  await drain(journal);
  await journal.close();
  deepStrictEqual(await rowsOf(bench), [`${jobs[1]?.no}.1`]);
  deepStrictEqual(await places(bench), await feedPlaces(bench));
});

test('a pass that finds nothing but pruned jobs is followed by the next', async () => {
  await using bench = openBench();
  const nos: number[] = [];
  for (let i = 0; i < 8; i++) {
    const drafts = Array.from({ length: 500 }, () => ({ target: 'any' }));
    nos.push(...(await bench.engine.jobs.create(HEAD, drafts)).jobs.map(({ no }) => no));
  }
  await bench.engine.jobs.create(HEAD, [{ target: 'any' }]);
  await bench.store.transaction(0, async (tx) => tx.jobs.remove(nos));
  const journal = await journalOf(bench);
  deepStrictEqual(await journal.runOnce(), { done: 4_000, more: true });
  deepStrictEqual(await places(bench), []);
  deepStrictEqual(await journal.runOnce(), { done: 1, more: false });
  await journal.close();
  deepStrictEqual(await places(bench), await feedPlaces(bench));
});

test('a journal that was opened again goes on where it stopped, without a line twice', async () => {
  await using bench = openBench();
  await makeWork(bench);
  let journal = await journalOf(bench);
  await drain(journal);
  await journal.close();
  await bench.engine.jobs.create(HEAD, [{ target: 'any' }]);
  await bench.reopen();
  journal = await journalOf(bench);
  strictEqual(journal.setAside, null);
  strictEqual(await drain(journal), 1);
  await journal.close();
  deepStrictEqual(await places(bench), await feedPlaces(bench));
});

test('a journal whose last event is of a pruned job is opened again as the one of its database', async () => {
  await using bench = openBench();
  const { jobs } = await bench.engine.jobs.create(HEAD, [{ target: 'any' }, { target: 'any' }]);
  const [gone] = jobs;
  ok(gone);
  await bench.engine.jobs.comment(HEAD, gone.id, 'the last word');
  let journal = await journalOf(bench);
  await drain(journal);
  await journal.close();
  await bench.store.transaction(0, async (tx) => tx.jobs.remove([gone.no]));
  journal = await journalOf(bench);
  strictEqual(journal.setAside, null);
  strictEqual(await drain(journal), 0);
  await journal.close();
});

test('a line that a crash cut off is removed and written again, wherever it was cut', async () => {
  await using bench = openBench();
  await makeWork(bench);
  const journal = await journalOf(bench);
  await drain(journal);
  await journal.close();
  const file = path.join(journalDir(bench), '000001.jsonl');
  const whole = readFileSync(file);
  const cuts = [
    0,
    1,
    20,
    whole.lastIndexOf(10, -2) + 1,
    whole.length - 1,
    whole.length - 2,
    Math.floor(whole.length / 2),
  ];
  for (const cut of cuts) {
    writeFileSync(file, whole);
    truncateSync(file, cut);
    const again = await journalOf(bench);
    await drain(again);
    await again.close();
    deepStrictEqual(await places(bench), await feedPlaces(bench), `cut at ${cut}`);
  }
});

test('zeros at the end, as a power cut may leave them, are no line', async () => {
  await using bench = openBench();
  await makeWork(bench);
  const journal = await journalOf(bench);
  await drain(journal);
  await journal.close();
  appendFileSync(path.join(journalDir(bench), '000001.jsonl'), Buffer.alloc(4096));
  await bench.engine.jobs.create(HEAD, [{ target: 'any' }]);
  const again = await journalOf(bench);
  await drain(again);
  await again.close();
  deepStrictEqual(await places(bench), await feedPlaces(bench));
});

test('a full segment is followed by the next', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench, { segmentBytes: 2_000 });
  for (let i = 0; i < 10; i++) {
    await bench.engine.jobs.create(HEAD, [{ target: 'any', spec: 'x'.repeat(500) }]);
    await journal.runOnce();
  }
  await journal.close();
  ok(readdirSync(journalDir(bench)).length >= 3);
  const again = await journalOf(bench);
  strictEqual(await drain(again), 0);
  await again.close();
  deepStrictEqual(await places(bench), await feedPlaces(bench));
});

test('rewriting the journal leaves what is alive, in one file, and lines of pruned jobs go', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench, { segmentBytes: 20_000, compactAboveBytes: 70_000 });
  const { jobs } = await bench.engine.jobs.create(
    HEAD,
    Array.from({ length: 50 }, () => ({ target: 'left-claw', spec: 'x'.repeat(500) })),
  );
  await drain(journal);
  const gone = jobs.slice(0, 40);
  await bench.store.transaction(0, async (tx) => tx.jobs.remove(gone.map(({ no }) => no)));
  journal.prune(gone.map(({ id }) => id));
  const kept = jobs[45];
  ok(kept);
  const { job } = await bench.engine.leases.claim(LEFT, kept.id);
  for (let i = 0; i < 40; i++) {
    await bench.engine.leases.heartbeat(LEFT, kept.id, job.leaseToken, { i, text: 'y'.repeat(300) });
    await journal.runOnce();
  }
  await drain(journal);
  await journal.close();
  const files = readdirSync(journalDir(bench));
  ok(
    files.some((file) => file.endsWith('.base.jsonl')),
    files.join(),
  );
  const bytes = files.reduce((sum, file) => sum + statSync(path.join(journalDir(bench), file)).size, 0);
  ok(bytes < 70_000, `${bytes} bytes`);
  const held = new Set(
    (await linesOf(bench)).flatMap((line) => ('pos' in line && line.fixed ? [line.fixed.id] : [])),
  );
  deepStrictEqual(held, new Set((await allJobs(bench.store)).map(({ id }) => id)));
});

test('a rewrite that was killed at any step changes nothing', async () => {
  await using bench = openBench();
  await makeWork(bench);
  const journal = await journalOf(bench, { segmentBytes: 3_000 });
  await drain(journal);
  await journal.close();
  const dir = journalDir(bench);
  const expected = await places(bench);
  // Killed while it was written.
  writeFileSync(
    path.join(dir, '000002.base.jsonl.tmp'),
    '{"spine":1,"identity":"test-identity"}\n{"pos":1,"ordin',
  );
  await (await journalOf(bench)).close();
  deepStrictEqual(
    readdirSync(dir).filter((file) => file.endsWith('.tmp')),
    [],
  );
  deepStrictEqual(await places(bench), expected);
  // Killed after the new file was put in place, before the old ones were deleted.
  const old = path.join(bench.dir, 'old');
  mkdirSync(old);
  for (const file of readdirSync(dir)) copyFileSync(path.join(dir, file), path.join(old, file));
  const again = await journalOf(bench, { compactAboveBytes: 1 });
  await drain(again);
  await again.close();
  const after = new Set(await places(bench));
  for (const file of readdirSync(old)) copyFileSync(path.join(old, file), path.join(dir, file));
  deepStrictEqual(new Set(await places(bench)), after);
  await (await journalOf(bench)).close();
  ok(!existsSync(path.join(dir, '000001.jsonl')));
  deepStrictEqual(after, new Set(await feedPlaces(bench)));
});

test('a database that was restored from a backup gets a new journal, and the old one is kept', async () => {
  await using bench = openBench();
  await bench.engine.jobs.create(HEAD, [{ target: 'any' }]);
  const backup = path.join(bench.dir, 'backup.db');
  await copyDatabase(path.join(bench.dir, 'spine.db'), backup);
  await bench.engine.jobs.create(HEAD, [{ target: 'any' }, { target: 'any' }]);
  const journal = await journalOf(bench);
  await drain(journal);
  await journal.close();
  await bench.store.close();
  for (const suffix of ['-wal', '-shm']) rmSync(path.join(bench.dir, `spine.db${suffix}`), { force: true });
  copyFileSync(backup, path.join(bench.dir, 'spine.db'));
  await using restored = openBench(bench.dir);
  await restored.engine.jobs.create(HEAD, [{ target: 'left-claw' }]);
  const again = await journalOf(restored);
  match(again.setAside ?? '', /journal\.before-1$/);
  await drain(again);
  await again.close();
  deepStrictEqual(await places(restored), await feedPlaces(restored));
});

test('a failed write is tried again in a new file, and what was lost with the old one is written again', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench);
  await bench.engine.jobs.create(HEAD, [{ target: 'any' }]);
  await drain(journal);
  await bench.engine.jobs.create(HEAD, [{ target: 'any' }]);
  const dir = journalDir(bench);
  // The next segment cannot be made, as on a disk that fails.
  rmSync(dir, { recursive: true });
  writeFileSync(dir, '');
  await journal.close();
  let failure: unknown;
  await journal.runOnce().catch((error: unknown) => (failure = error));
  ok(failure instanceof Error);
  rmSync(dir);
  strictEqual(await drain(journal), 1);
  await journal.close();
  deepStrictEqual(await places(bench), await feedPlaces(bench));
});

/** What cannot be read, with its place. */
async function damageOf(bench: Bench): Promise<string[]> {
  const found: string[] = [];
  for await (const { line, where } of readJournal(journalDir(bench))) if (line === null) found.push(where);
  return found;
}

test('a hole before lines that are whole, as a power cut may leave it, is noticed and written again', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench);
  await makeWork(bench);
  await drain(journal);
  const file = path.join(journalDir(bench), '000001.jsonl');
  const synced = statSync(file).size;
  for (let i = 0; i < 40; i++)
    await bench.engine.jobs.create(HEAD, [{ target: 'any', spec: 'x'.repeat(200) }]);
  await drain(journal);
  await journal.close();
  const whole = readFileSync(file);
  // Any page of what was being written may be missing, also when the last ones are there, its seal included.
  for (let hole = synced; hole < whole.length - 512; hole += 1_536) {
    writeFileSync(file, Buffer.from(whole).fill(0, hole, hole + 512));
    ok((await damageOf(bench)).length > 0, `a hole at ${hole}`);
    const again = await journalOf(bench);
    await drain(again);
    await again.close();
    deepStrictEqual(await places(bench), await feedPlaces(bench), `a hole at ${hole}`);
  }
});

test('a changed byte and a line taken out are named, in whichever segment they are', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench, { segmentBytes: 2_000 });
  for (let i = 0; i < 6; i++) {
    await bench.engine.jobs.create(HEAD, [{ target: 'any', spec: 'x'.repeat(500) }]);
    await journal.runOnce();
  }
  await journal.close();
  deepStrictEqual(await damageOf(bench), []);
  const file = path.join(journalDir(bench), '000001.jsonl');
  const whole = readFileSync(file, 'utf8');
  writeFileSync(file, whole.replace('xxxxx', 'xxyxx'));
  match((await damageOf(bench)).join(), /^000001\.jsonl:1-\d+ \(not as written\)$/);
  const lines = whole.split('\n');
  writeFileSync(file, lines.toSpliced(2, 1).join('\n'));
  match((await damageOf(bench)).join(), /^000001\.jsonl:1-\d+ \(not as written\)$/);
});

test('a segment that is missing is named, and written again after the next start', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench, { segmentBytes: 2_000 });
  for (let i = 0; i < 10; i++) {
    await bench.engine.jobs.create(HEAD, [{ target: 'any', spec: 'x'.repeat(500) }]);
    await journal.runOnce();
  }
  await journal.close();
  rmSync(path.join(journalDir(bench), '000002.jsonl'));
  deepStrictEqual(await damageOf(bench), ['000002.jsonl (missing)']);
  const again = await journalOf(bench);
  await drain(again);
  await again.close();
  deepStrictEqual(await damageOf(bench), []);
  deepStrictEqual(await places(bench), await feedPlaces(bench));
});

for (const [what, lose] of Object.entries({
  deleted: (dir: string) => rmSync(dir, { recursive: true }),
  moved: (dir: string) => renameSync(dir, `${dir}.moved`),
  emptied: (dir: string) => rmSync(path.join(dir, '000001.jsonl')),
})) {
  test(`a journal whose folder is ${what} under a running server is written again`, async () => {
    await using bench = openBench();
    await makeWork(bench);
    const journal = await journalOf(bench);
    await drain(journal);
    lose(journalDir(bench));
    await bench.engine.jobs.create(HEAD, [{ target: 'any' }]);
    await drain(journal);
    await journal.close();
    deepStrictEqual(await damageOf(bench), []);
    deepStrictEqual(new Set(await places(bench)), new Set(await feedPlaces(bench)));
  });
}
