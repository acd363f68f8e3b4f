import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Job } from '../../src/domain/job.ts';
import type { Schedule } from '../../src/domain/schedule.ts';
import { openProjection } from '../../src/files/projection.ts';
import type { Store } from '../../src/store/store.ts';
import { allJobs, type Bench, drain, everything, HEAD, openBench, settleAll } from '../files/fixture.ts';
import { claimNext } from '../support/engines.ts';
import { doNext, failNext, plan, pump, runNow, runsOf, statuses, take } from '../support/scheduling.ts';
import { journalOf, rebuilt, writeAll } from './rebuilding.ts';

const HOUR_MS = 3_600_000;
const journalFile = (bench: Bench): string => path.join(bench.dir, 'journal', '000001.jsonl');

/** All that a store knows of the scheduler, but what only a worker can write down. */
async function scheduling({ read }: Store) {
  const jobs = await allJobs({ read } as Store);
  const nos = jobs.map(({ no }) => no);
  const notes = { sessionKey: null, transport: null, dispatchedAt: null };
  const runs = (await read.runs.byNo(nos)).map((run) => ({ ...run, ...notes }));
  return { schedules: await schedulesIn(read), runs, approvals: await read.approvals.byNo(nos) };
}

async function schedulesIn(read: Store['read']) {
  const all = await read.schedules.list({ afterNo: 0, limit: 10_000 });
  return all.map((schedule) => ({ ...schedule, updatedAt: 0 }));
}

/** Chains, a line, approvals in every state, failures, moments and clocks. */
async function makeSchedules(bench: Bench): Promise<void> {
  const { engine, clock } = bench;
  const parent = await plan(bench, { name: 'build', schedule: '0 3 * * *', schedule_tz: 'Europe/Stockholm' });
  const child = await plan(bench, { name: 'report', parent_id: parent.id });
  const needingApproval = await plan(bench, {
    name: 'deploy ✓',
    parent_id: child.id,
    approval_required: true,
    overlap_policy: 'allow',
  });
  for (let i = 0; i < 4; i++) {
    await runNow(bench, parent);
    await doNext(bench, { text: `build ${i}` });
    await doNext(bench, 'reported');
  }
  const [first, second] = await runsOf(bench, needingApproval);
  const verdict = { agree: true, notes: 'go', by: 'operator' } as const;
  await engine.approvals.resolve(HEAD, first?.job.id ?? '', verdict);
  await engine.approvals.resolve(HEAD, second?.job.id ?? '', {
    agree: false,
    notes: 'not today',
    by: 'operator',
  });
  await engine.jobs.cancel(HEAD, (await runsOf(bench, needingApproval))[2]?.job.id ?? '', 'no longer');
  await pump(bench);
  await doNext(bench, 'deployed');
  const broken = await plan(bench, { name: 'broken', every: '1d', max_retries: 1 });
  await runNow(bench, broken);
  await failNext(bench);
  clock.pass(40_000);
  await pump(bench);
  await failNext(bench, 'again');
  await plan(bench, { name: 'once', at: new Date(clock.now() + HOUR_MS).toISOString() });
  const fired = await plan(bench, { name: 'fired', at: new Date(clock.now() + 1_000).toISOString() });
  clock.pass(2_000);
  await pump(bench);
  await doNext(bench);
  strictEqual((await engine.schedules.get(HEAD, fired.id)).enabled, false);
  await plan(bench, { name: 'off', every: '1h', enabled: false });
  const line = await plan(bench, { name: 'line', overlap_policy: 'queue' });
  for (let i = 0; i < 4; i++) await runNow(bench, line);
  await take(bench);
  const skips = await plan(bench, { name: 'skips', target: 'nobody' });
  for (let i = 0; i < 2; i++) await runNow(bench, skips);
}

test('the journal brings back schedules with their chains, lines, approvals and history', async () => {
  await using bench = openBench();
  await makeSchedules(bench);
  await writeAll(bench);
  const { other, report } = await rebuilt(bench);
  deepStrictEqual(await scheduling(other.store), await scheduling(bench.store));
  deepStrictEqual(await everything(other.store), await everything(bench.store));
  deepStrictEqual(await other.store.read.counters.all(), await bench.store.read.counters.all());
  deepStrictEqual([report.schedules, report.unreadable], [9, []]);
  const names = async ({ engine }: Bench) =>
    (await engine.schedules.edges()).map(({ name, parentId }) => [name, parentId]);
  deepStrictEqual(await names(other), await names(bench));
  // New ones get new numbers.
  ok((await plan(other)).no > 9);
  await other.store.close();
});

test('a rewritten journal brings back the same', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench, { segmentBytes: 5_000, compactAboveBytes: 20_000 });
  await makeSchedules(bench);
  for (let i = 0; i < 10; i++) await drain(journal);
  const gone = await plan(bench, { name: 'gone' });
  bench.clock.pass(6_000);
  await drain(journal);
  await bench.engine.schedules.remove(HEAD, gone.id);
  bench.clock.pass(6_000);
  await drain(journal);
  await journal.close();
  const { other } = await rebuilt(bench);
  deepStrictEqual(await scheduling(other.store), await scheduling(bench.store));
  await other.store.close();
});

test('a chain fires after a rebuild, once for each end of its parent', async () => {
  await using bench = openBench();
  const parent = await plan(bench, { name: 'parent' });
  const child = await plan(bench, { name: 'child', parent_id: parent.id, target: 'children' });
  await runNow(bench, parent);
  await doNext(bench);
  await runNow(bench, parent);
  await writeAll(bench);
  const { other } = await rebuilt(bench);
  await pump(other);
  strictEqual((await runsOf(other, child)).length, 1);
  const second = await doNext(other, 'second');
  deepStrictEqual(
    (await runsOf(other, child)).map(({ run }) => run.triggeredBy),
    [second?.no === undefined ? 0 : second.no - 2, second?.no],
  );
  await other.store.close();
});

test('an end whose consequences are not in the journal has them after the rebuild', async () => {
  await using bench = openBench();
  const parent = await plan(bench, { name: 'parent', overlap_policy: 'queue' });
  const child = await plan(bench, { name: 'child', parent_id: parent.id, target: 'children' });
  for (let i = 0; i < 2; i++) await runNow(bench, parent);
  const claimed = (await take(bench))?.job;
  await bench.engine.leases.complete(HEAD, claimed?.id ?? '', claimed?.leaseToken ?? null, 'ok');
  await writeAll(bench);
  const { other } = await rebuilt(bench);
  await pump(other);
  deepStrictEqual(await statuses(other, parent), ['ok', 'pending']);
  strictEqual((await runsOf(other, child)).length, 1);
  await other.store.close();
});

test('a journal that lost the word of a settling starts no child and no retry twice', async () => {
  await using bench = openBench();
  const parent = await plan(bench, { name: 'parent' });
  const child = await plan(bench, { name: 'child', parent_id: parent.id, target: 'children' });
  const retried = await plan(bench, { name: 'retried', max_retries: 1, target: 'others' });
  await runNow(bench, parent);
  await doNext(bench);
  const run = await runNow(bench, retried);
  const { job } = await bench.engine.leases.claim(HEAD, run.id);
  await bench.engine.leases.fail(HEAD, run.id, job.leaseToken, 'no', true);
  await pump(bench);
  await writeAll(bench);
  editLines(bench, (line) => (line.startsWith('{"settled"') ? null : line));
  const { other } = await rebuilt(bench);
  await pump(other);
  strictEqual((await runsOf(other, child)).length, 1);
  deepStrictEqual(await statuses(other, retried), ['error', 'pending']);
  deepStrictEqual(await other.store.read.jobs.unsettled(10), []);
  await other.store.close();
});

test('a run that ended long ago does not start a child that was added since', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench);
  const parent = await plan(bench, { name: 'parent' });
  const run = await runNow(bench, parent);
  const { job } = await bench.engine.leases.claim(HEAD, run.id);
  await bench.engine.leases.complete(HEAD, run.id, job.leaseToken, 'ok');
  // The journal sees the end before the settling loop does.
  await drain(journal);
  await settleAll(bench.engine, bench.store);
  const child = await plan(bench, { name: 'late', parent_id: parent.id });
  bench.clock.pass(6_000);
  await drain(journal);
  await journal.close();
  const { other } = await rebuilt(bench);
  await pump(other);
  deepStrictEqual(await runsOf(other, child), []);
  deepStrictEqual(await statuses(other, parent), ['ok']);
  await other.store.close();
});

test('a run that somebody had begun is noted as begun, so that it is never sent blindly again', async () => {
  await using bench = openBench();
  const make = (name: string) =>
    plan(bench, { name, session_target: 'isolated', payload_message: 'do it', every: '1d' });
  const [running, handedBack, fresh] = [
    await make('running'),
    await make('handed back'),
    await make('fresh'),
  ];
  strictEqual(running.spec.deliveryGuarantee, 'at-most-once');
  const [first, second] = [await runNow(bench, running), await runNow(bench, handedBack)];
  await runNow(bench, fresh);
  for (const { id } of [first, second]) await bench.engine.leases.claim(HEAD, id);
  const held = await bench.engine.jobs.get(HEAD, second.id);
  await bench.engine.leases.release(HEAD, second.id, held.leaseToken, 'shutdown');
  await writeAll(bench);
  const { other } = await rebuilt(bench);
  const noteOf = async (of: Schedule) => {
    const [found] = await runsOf(other, of);
    return found && [found.run.sessionKey, found.run.transport, found.run.dispatchedAt];
  };
  const { updatedAt } = await other.engine.jobs.get(HEAD, first.id);
  deepStrictEqual(await noteOf(running), [`scheduler:${running.id}:${first.id}`, 'chat', updatedAt]);
  deepStrictEqual((await noteOf(handedBack))?.slice(0, 2), [
    `scheduler:${handedBack.id}:${second.id}`,
    'chat',
  ]);
  deepStrictEqual(await noteOf(fresh), [null, null, null]);
  await other.store.close();
});

test('a tick that fired before the files ended does not fire again', async () => {
  await using bench = openBench();
  const hourly = await plan(bench, { name: 'hourly', every: '1h' });
  const once = await plan(bench, { name: 'once', at: new Date(bench.clock.now() + HOUR_MS).toISOString() });
  const journal = await journalOf(bench);
  await drain(journal);
  bench.clock.pass(HOUR_MS + 10);
  await pump(bench);
  // As if it had stopped before it looked at the schedules again.
  await drain(journal);
  await journal.close();
  editLines(bench, (line) => line.replace('"enabled":false', '"enabled":true'));
  const { other } = await rebuilt(bench);
  await pump(other);
  deepStrictEqual(await statuses(other, hourly), ['pending']);
  deepStrictEqual(await statuses(other, once), ['pending']);
  deepStrictEqual((await other.engine.schedules.get(HEAD, once.id)).nextRunAt, null);
  const { nextRunAt } = await other.engine.schedules.get(HEAD, hourly.id);
  strictEqual(nextRunAt, hourly.createdAt + 2 * HOUR_MS);
  other.clock.pass(HOUR_MS);
  await pump(other);
  strictEqual((await runsOf(other, hourly)).length, 2);
  await other.store.close();
});

test('an approval that was asked for can be given after the rebuild, or times out at its time', async () => {
  await using bench = openBench();
  const draft = { target: 'any', approval: { timeoutS: 60 } };
  const { jobs } = await bench.engine.jobs.create(HEAD, [draft, draft]);
  const [first, second] = jobs as [Job, Job];
  await writeAll(bench);
  const { other } = await rebuilt(bench);
  const asked = await other.engine.approvals.list({ status: 'pending', limit: 10 });
  deepStrictEqual(asked, await bench.engine.approvals.list({ status: 'pending', limit: 10 }));
  const hash = asked.find(({ jobId }) => jobId === first.id)?.hash ?? '';
  await other.engine.approvals.resolve(HEAD, first.id, { agree: true, notes: null, by: 'operator', hash });
  strictEqual((await other.engine.jobs.get(HEAD, first.id)).state, 'queued');
  other.clock.pass(61_000);
  await pump(other);
  strictEqual((await other.engine.approvals.get(second.id)).status, 'timed_out');
  await other.store.close();
});

test('a line goes on after the rebuild, one run at a time, even if the head of it is lost', async () => {
  await using bench = openBench();
  const line = await plan(bench, { name: 'line', overlap_policy: 'queue' });
  for (let i = 0; i < 4; i++) await runNow(bench, line);
  await writeAll(bench);
  const head = (await runsOf(bench, line))[0]?.job.no;
  editLines(bench, (text) => (text.includes(`"jobNo":${head},`) ? null : text));
  const { other } = await rebuilt(bench);
  await pump(other);
  deepStrictEqual(await statuses(other, line), ['pending', 'pending', 'pending']);
  for (let i = 0; i < 3; i++) {
    ok(await doNext(other));
    strictEqual((await claimable(other)) > 1, false);
  }
  deepStrictEqual(await statuses(other, line), ['ok', 'ok', 'ok']);
  await other.store.close();
});

async function claimable(bench: Bench): Promise<number> {
  return (await allJobs(bench.store)).filter(({ state }) => state === 'queued').length;
}

test('a schedule that was deleted stays away, whether or not somebody saw it go', async () => {
  await using bench = openBench();
  const [seen, unseen, kept] = [await plan(bench), await plan(bench), await plan(bench)];
  const journal = await journalOf(bench);
  await drain(journal);
  await bench.engine.schedules.remove(HEAD, seen.id);
  bench.clock.pass(6_000);
  await drain(journal);
  await journal.close();
  match(readFileSync(journalFile(bench), 'utf8'), new RegExp(`"scheduleGone":"${seen.id}"`));
  await bench.engine.schedules.remove(HEAD, unseen.id);
  // The next server looks at what there is.
  await writeAll(bench);
  const { other } = await rebuilt(bench);
  deepStrictEqual(
    (await schedulesIn(other.store.read)).map(({ id }) => id),
    [kept.id],
  );
  await other.store.close();
});

test('of two schedules with one number the one that was told of last has it', async () => {
  await using bench = openBench();
  const first = await plan(bench, { name: 'first' });
  const journal = await journalOf(bench);
  await drain(journal);
  await bench.engine.schedules.remove(HEAD, first.id);
  const second = await plan(bench, { name: 'second' });
  strictEqual(second.no, first.no);
  bench.clock.pass(6_000);
  await drain(journal);
  await journal.close();
  editLines(bench, (line) => (line.startsWith('{"scheduleGone"') ? null : line));
  const { other, report } = await rebuilt(bench);
  strictEqual(report.schedules, 1);
  strictEqual((await other.engine.schedules.get(HEAD, second.id)).spec.name, 'second');
  await other.store.close();
});

test('damaged lines of schedules are named, and the others come back', async () => {
  await using bench = openBench();
  const all = [await plan(bench), await plan(bench), await plan(bench), await plan(bench)];
  await writeAll(bench);
  const damage: readonly ((line: string) => string)[] = [
    (line) => line,
    (line) => line.slice(0, -9),
    () => '{"schedule":{"no":3}}',
    () => '{"schedule":null}',
  ];
  editLines(bench, (line) => {
    const at = all.findIndex(({ id }) => line.startsWith('{"schedule":') && line.includes(id));
    return damage[at]?.(line) ?? line;
  });
  const { other, report } = await rebuilt(bench);
  strictEqual(report.unreadable.length, 3);
  deepStrictEqual(
    (await schedulesIn(other.store.read)).map(({ id }) => id),
    [all[0]?.id],
  );
  await other.store.close();
});

test('a journal that ends anywhere gives schedules and runs that can go on', async () => {
  await using bench = openBench();
  const journal = await journalOf(bench);
  const parent = await plan(bench, { name: 'parent', overlap_policy: 'queue', max_retries: 1 });
  await plan(bench, { name: 'child', parent_id: parent.id, approval_required: true, trigger_on: 'complete' });
  for (let i = 0; i < 3; i++) await runNow(bench, parent);
  await doNext(bench);
  await drain(journal);
  await failNext(bench);
  await drain(journal);
  await doNext(bench);
  await drain(journal);
  await journal.close();
  const file = journalFile(bench);
  const whole = readFileSync(file);
  for (const end of [...whole.keys()].filter((at) => whole[at] === 10)) {
    writeFileSync(file, whole);
    truncateSync(file, end + 1);
    const { other } = await rebuilt(bench);
    // Nothing is stuck: everything that waits moves until nothing but approvals is left.
    for (let retries = 0; retries < 3; retries++) {
      await pump(other);
      for (let job = await doNext(other); job !== null; job = await doNext(other));
      other.clock.pass(40_000);
    }
    deepStrictEqual(await other.store.read.jobs.unsettled(10), [], `cut at ${end}`);
    const stuck = (await allJobs(other.store)).filter(({ state }) => state === 'blocked');
    const known = (await schedulesIn(other.store.read)).length === 2;
    if (known) deepStrictEqual(stuck, [], `cut at ${end}`);
    await other.store.close();
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(path.join(bench.dir, `spine.db.new${suffix}`), { force: true });
  }
});

test('without a journal the readable files bring schedules, runs and approvals back', async () => {
  await using bench = openBench();
  await makeSchedules(bench);
  await drain(await openProjection({ dir: bench.dir, store: bench.store, clock: bench.clock }));
  writeFileSync(path.join(bench.dir, 'schedules', 'broken.json'), '{"id":"x"');
  writeFileSync(
    path.join(bench.dir, 'schedules', 'changed.json'),
    '{"id":"x","no":99,"created_at":"2026-01-01T00:00:00Z","name":"x","schedule_cron":"61 * * * *","payload_message":"x"}',
  );
  const { other, report } = await rebuilt(bench);
  deepStrictEqual([report.from, report.schedules], ['files', 9]);
  deepStrictEqual(await scheduling(other.store), await scheduling(bench.store));
  strictEqual(report.unreadable.length, 2);
  match(report.unreadable.join(), /broken\.json \(not valid JSON\),schedules\/changed\.json \(schedule_cron/);
  // The holder of a run goes on with it, and the line behind it moves.
  const running = (await allJobs(other.store)).find(({ state }) => state === 'running');
  await other.engine.leases.complete(HEAD, running?.id ?? '', null, 'ok');
  await pump(other);
  strictEqual((await claimNext(other)).length, 1);
  await other.store.close();
});

/** Changes the journal's lines; null takes one out. */
function editLines(bench: Bench, edit: (line: string) => string | null): void {
  const lines = readFileSync(journalFile(bench), 'utf8').split('\n');
  const kept = lines.map((line) => (line === '' ? line : edit(line))).filter((line) => line !== null);
  writeFileSync(journalFile(bench), kept.join('\n'));
}
