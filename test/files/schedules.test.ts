import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Schedule } from '../../src/domain/schedule.ts';
import { toSnake } from '../../src/domain/schedule-draft.ts';
import { type Journal, openJournal } from '../../src/files/journal.ts';
import type { JournalLine } from '../../src/files/journal-line.ts';
import { readJournal } from '../../src/files/journal-read.ts';
import { openProjection, type Projection } from '../../src/files/projection.ts';
import type { Store } from '../../src/store/store.ts';
import { doNext, failNext, plan, pump, runNow } from '../support/scheduling.ts';
import { type Bench, drain, HEAD, openBench } from './fixture.ts';

/** Longer than schedules are left alone between two looks. */
const LOOK_MS = 6_000;

function journalOf(bench: Bench, store: Pick<Store, 'identity' | 'read'> = bench.store): Promise<Journal> {
  return openJournal({ dir: path.join(bench.dir, 'journal'), store, clock: bench.clock });
}

function projectionOf(bench: Bench): Promise<Projection> {
  return openProjection({ dir: bench.dir, store: bench.store, clock: bench.clock });
}

const folder = (bench: Bench): string => path.join(bench.dir, 'schedules');
const fileOf = (bench: Bench, { id }: Schedule): string => path.join(folder(bench), `${id}.json`);

function documentOf(bench: Bench, of: Schedule): Record<string, unknown> {
  return JSON.parse(readFileSync(fileOf(bench, of), 'utf8')) as Record<string, unknown>;
}

/** The lines about schedules, in short. */
async function scheduleLines(bench: Bench): Promise<string[]> {
  const lines: JournalLine[] = [];
  for await (const { line } of readJournal(path.join(bench.dir, 'journal'))) if (line) lines.push(line);
  return lines.flatMap((line) => {
    if ('schedule' in line) return [`${line.schedule.spec.name} ${line.schedule.enabled ? 'on' : 'off'}`];
    if ('scheduleGone' in line) return ['gone'];
    return 'schedules' in line ? [`all ${line.schedules.length}`] : [];
  });
}

async function lookAgain(bench: Bench, duty: Journal | Projection): Promise<void> {
  bench.clock.pass(LOOK_MS);
  await drain(duty);
}

test('the journal has a line of a schedule when it is new, changed or gone, and none when it only ran', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench);
  const nightly = await plan(bench, { name: 'nightly', every: '1h' });
  await drain(journal);
  const known = ['nightly on', 'all 1'];
  deepStrictEqual(await scheduleLines(bench), known);
  for (let i = 0; i < 3; i++) {
    bench.clock.pass(3_600_000);
    await pump(bench);
    await (i === 1 ? failNext(bench) : doNext(bench));
    await lookAgain(bench, journal);
  }
  await lookAgain(bench, journal);
  deepStrictEqual(await scheduleLines(bench), known);
  await bench.engine.schedules.enable(HEAD, nightly.id, false);
  await lookAgain(bench, journal);
  await bench.engine.schedules.update(HEAD, nightly.id, { name: 'daily', every: '1d' });
  await lookAgain(bench, journal);
  await bench.engine.schedules.remove(HEAD, nightly.id);
  await lookAgain(bench, journal);
  await lookAgain(bench, journal);
  deepStrictEqual(await scheduleLines(bench), [...known, 'nightly off', 'daily off', 'gone']);
  await journal.close();
});

test('new jobs make nobody look at the schedules; time does, and so does a hurry', async () => {
  await using bench = openBench();
  let looks = 0;
  const { read, identity } = bench.store;
  const stamps: Store['read']['schedules']['stamps'] = (filter) => {
    looks++;
    return read.schedules.stamps(filter);
  };
  const counting = { ...read, schedules: { ...read.schedules, stamps } };
  const journal = await journalOf(bench, { identity, read: counting });
  await drain(journal);
  strictEqual(looks, 1);
  const made = await plan(bench);
  for (let i = 0; i < 20; i++) {
    await runNow(bench, made);
    await doNext(bench);
    await journal.runOnce();
  }
  strictEqual(looks, 1);
  journal.hurry();
  await journal.runOnce();
  strictEqual(looks, 2);
  deepStrictEqual(await scheduleLines(bench), ['all 0', 'nightly on']);
  await journal.close();
});

test('while no schedule changes nobody reads them, however often it is time to look', async () => {
  await using bench = openBench();
  const made = await plan(bench);
  let looks = 0;
  const { read, identity } = bench.store;
  const stamps: Store['read']['schedules']['stamps'] = (filter) => {
    looks++;
    return read.schedules.stamps(filter);
  };
  const counting = { ...read, schedules: { ...read.schedules, stamps } };
  const journal = await journalOf(bench, { identity, read: counting });
  await drain(journal);
  // Fresh changes are looked at twice.
  for (let i = 0; i < 3; i++) await lookAgain(bench, journal);
  const before = looks;
  for (let i = 0; i < 10; i++) await lookAgain(bench, journal);
  strictEqual(looks, before);
  await bench.engine.schedules.enable(HEAD, made.id, false);
  await lookAgain(bench, journal);
  strictEqual(looks, before + 1);
  await runNow(bench, made);
  await lookAgain(bench, journal);
  await lookAgain(bench, journal);
  await bench.engine.schedules.remove(HEAD, made.id);
  await lookAgain(bench, journal);
  deepStrictEqual((await scheduleLines(bench)).at(-1), 'gone');
  await journal.close();
});

test('two changes within one millisecond are both noticed', async () => {
  await using bench = openBench();
  const made = await plan(bench);
  const save = (name: string) =>
    bench.store.transaction(0, async (tx) => tx.schedules.save([{ ...made, spec: { ...made.spec, name } }]));
  const journal = await journalOf(bench);
  await drain(journal);
  await save('second');
  await lookAgain(bench, journal);
  await lookAgain(bench, journal);
  deepStrictEqual(await scheduleLines(bench), ['nightly on', 'all 1', 'second on']);
  await journal.close();
});

test('many schedules are read and written a page at a time', async () => {
  await using bench = openBench();
  const made = await plan(bench);
  await bench.store.transaction(0, async (tx) => {
    for (let i = 0; i < 600; i++) await tx.schedules.insert({ ...made, id: `many-${i}` });
  });
  const pages: number[] = [];
  const { read, identity } = bench.store;
  const stamps: Store['read']['schedules']['stamps'] = async (filter) => {
    const page = await read.schedules.stamps(filter);
    pages.push(page.length);
    return page;
  };
  const watched = { ...read, schedules: { ...read.schedules, stamps } };
  const journal = await journalOf(bench, { identity, read: watched });
  const first = await journal.runOnce();
  deepStrictEqual([first.more, pages], [true, [250]]);
  await drain(journal);
  deepStrictEqual(pages, [250, 250, 101]);
  strictEqual((await scheduleLines(bench)).length, 602);
  await journal.close();
  const projection = await projectionOf(bench);
  await projection.runOnce();
  strictEqual(readdirSync(folder(bench)).length, 100);
  await drain(projection);
  strictEqual(readdirSync(folder(bench)).length, 601);
});

test('a look whose lines could not be written is made up for', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench);
  await drain(journal);
  await plan(bench);
  const dir = path.join(bench.dir, 'journal');
  await journal.close();
  rmSync(dir, { recursive: true });
  writeFileSync(dir, '');
  bench.clock.pass(LOOK_MS);
  let failure: unknown;
  await journal.runOnce().catch((error: unknown) => (failure = error));
  ok(failure instanceof Error);
  rmSync(dir);
  mkdirSync(dir);
  await drain(journal);
  await journal.close();
  deepStrictEqual(await scheduleLines(bench), ['nightly on']);
});

test("every schedule has a file with the door's names, and it goes with the schedule", async () => {
  await using bench = openBench();
  const parent = await plan(bench, { name: 'pärent', schedule: '0 3 * * 1-5', schedule_tz: 'Asia/Tokyo' });
  const child = await plan(bench, { name: 'child', parent_id: parent.id });
  const projection = await projectionOf(bench);
  await drain(projection);
  const { id, no, spec, nextRunAt, createdAt } = parent;
  const document = documentOf(bench, parent);
  for (const [name, value] of Object.entries({
    ...toSnake(spec),
    id,
    no,
    enabled: true,
    next_run_at: new Date(nextRunAt ?? 0).toISOString(),
    last_run_at: null,
    last_status: null,
    consecutive_errors: 0,
    queued_count: 0,
    created_at: new Date(createdAt).toISOString(),
    created_by: 'head',
    spawned_by: null,
  }))
    deepStrictEqual(document[name], value, name);
  strictEqual(documentOf(bench, child)['parent_id'], parent.id);
  strictEqual(statSync(fileOf(bench, child)).mode & 0o777, 0o600);
  await runNow(bench, parent);
  await failNext(bench);
  await lookAgain(bench, projection);
  const after = documentOf(bench, parent);
  deepStrictEqual([after['last_status'], after['consecutive_errors']], ['error', 1]);
  await bench.engine.schedules.remove(HEAD, child.id);
  await lookAgain(bench, projection);
  deepStrictEqual(readdirSync(folder(bench)), [`${parent.id}.json`]);
});

test('a file of a schedule that did not change is left alone, also after a restart', async () => {
  await using bench = openBench();
  const made = await plan(bench);
  await drain(await projectionOf(bench));
  const { ino } = statSync(fileOf(bench, made));
  const again = await projectionOf(bench);
  await drain(again);
  await lookAgain(bench, again);
  strictEqual(statSync(fileOf(bench, made)).ino, ino);
});

test('files of schedules that went while nobody looked are removed at the next start', async () => {
  await using bench = openBench();
  const [gone, kept] = [await plan(bench), await plan(bench)];
  await drain(await projectionOf(bench));
  await bench.engine.schedules.remove(HEAD, gone.id);
  writeFileSync(`${fileOf(bench, gone)}.tmp`, '{"half');
  writeFileSync(path.join(folder(bench), 'README'), 'mine');
  await drain(await projectionOf(bench));
  ok(existsSync(fileOf(bench, kept)));
  deepStrictEqual(readdirSync(folder(bench)).toSorted(), [`${kept.id}.json`, 'README'].toSorted());
});

test("a run's file says how it came about, and an approval's who decided", async () => {
  await using bench = openBench();
  const parent = await plan(bench, { name: 'parent' });
  await plan(bench, { name: 'child', parent_id: parent.id, approval_required: true });
  const run = await runNow(bench, parent);
  await doNext(bench);
  const [pending] = await bench.engine.approvals.list({ limit: 1 });
  await drain(await projectionOf(bench));
  const read = (id: string) =>
    JSON.parse(readFileSync(path.join(bench.dir, 'jobs', `${id}.json`), 'utf8')) as Record<string, unknown>;
  deepStrictEqual(read(run.id)['run'], { kind: 'manual' });
  const child = read(pending?.jobId ?? '');
  deepStrictEqual(child['run'], { kind: 'chain', triggeredBy: run.id });
  strictEqual((child['approval'] as { status: string }).status, 'pending');
});
