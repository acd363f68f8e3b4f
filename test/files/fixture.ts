import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Actor, JobDependency } from '../../src/domain/command.ts';
import type { JobEvent } from '../../src/domain/event.ts';
import { type Job, type JobDetails, STATES } from '../../src/domain/job.ts';
import type { Clock } from '../../src/domain/ports.ts';
import { type OpenEngine, openEngine } from '../../src/engine/open-engine.ts';
import { timeOutQuestion } from '../../src/engine/questions.ts';
import { settle } from '../../src/engine/settling.ts';
import { systemIds } from '../../src/runtime/ids.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';

export const HEAD: Actor = { name: 'head', role: 'head', targets: null };
export const LEFT: Actor = { name: 'left-claw', role: 'worker', targets: ['left-claw', 'any'] };

/** Moves by one millisecond at each look, so that times differ and repeat. */
export function testClock(start = 1_800_000_000_000): Clock & { pass(ms: number): void } {
  let now = start;
  return { now: () => now++, after: () => () => undefined, pass: (ms) => void (now += ms) };
}

export interface Bench extends AsyncDisposable {
  readonly dir: string;
  readonly clock: ReturnType<typeof testClock>;
  store: Store;
  engine: OpenEngine;
  /** As after a restart: the same database, a new connection. */
  reopen(): Promise<void>;
}

export function makeDir(): string {
  return mkdtempSync(path.join(tmpdir(), 'spine-files-'));
}

export function openBench(dir: string = makeDir(), file = 'spine.db'): Bench {
  const clock = testClock();
  const open = (): Store => openSqlite({ file: path.join(dir, file), identity: 'test-identity' });
  const engineOn = (store: Store): OpenEngine =>
    openEngine({
      store,
      clock,
      ids: systemIds(),
      settings: { leaseMs: 60_000, maxAttempts: 3, maxUnfinishedJobs: 1_000_000 },
    });
  const store = open();
  return {
    dir,
    clock,
    store,
    engine: engineOn(store),
    async reopen() {
      await this.store.close();
      this.store = open();
      this.engine = engineOn(this.store);
    },
    async [Symbol.asyncDispose]() {
      // A test may have closed it to change the file.
      await this.store.close().catch(() => undefined);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Runs passes until nothing is left to do. */
export async function drain(duty: {
  runOnce(): Promise<{ done: number; more: boolean; nextInMs?: number }>;
}): Promise<number> {
  for (let total = 0; ; ) {
    const { done, more, nextInMs } = await duty.runOnce();
    total += done;
    if (done === 0 && !more && nextInMs === undefined) return total;
  }
}

/** A bit of everything: typed, tagged, waiting, running, commented, failed, retried, cancelled, pooled. */
export async function makeWork({ engine, clock, store }: Bench): Promise<void> {
  await engine.types.save(HEAD, {
    name: 'review',
    label: 'Review',
    sop: 'Look at it.\u2028Twice.',
    paramsSchema: { type: 'object' },
  });
  const { jobs } = await engine.jobs.create(HEAD, [
    {
      target: 'left-claw',
      title: 'done',
      spec: { text: 'ünïcödé \u2028 \n "quoted"' },
      meta: { n: 1e21 },
      tags: ['a', 'b'],
    },
    { target: 'left-claw', type: 'review', params: { x: 1 }, priority: 5 },
    { target: 'any', spec: 'fails', retry: { mode: 'lineage', max: 2, backoffMs: 1_000 } },
    { target: 'any', pool: 'gpu', concurrencyKey: 'k', uniqueKey: 'only-one' },
    { target: 'any', pool: 'gpu' },
    { target: 'right-claw', runAt: clock.now() + 3_600_000 },
  ]);
  const [done, typed, fails, pooled, , later] = jobs as [Job, Job, Job, Job, Job, Job];
  await engine.jobs.create(HEAD, [
    { target: 'any', title: 'waits', after: [{ job: typed.id }, { job: done.id, on: 'complete' }] },
    { target: 'any', title: 'waited', after: [{ job: later.id, on: 'failure' }] },
  ]);
  await engine.jobs.comment(HEAD, typed.id, 'first');
  const finished = await engine.leases.claim(LEFT, done.id);
  await engine.leases.heartbeat(LEFT, done.id, finished.job.leaseToken, { pct: 50 });
  await engine.leases.complete(LEFT, done.id, finished.job.leaseToken, { answer: '42' });
  const ended = await engine.jobs.get(HEAD, done.id);
  await engine.tasks.change(HEAD, ended, { status: 'review', metadata: { seen: 'no' }, note: 'look' });
  await engine.leases.claim(LEFT, typed.id);
  await engine.jobs.comment(LEFT, typed.id, 'second');
  const failing = await engine.leases.claim(LEFT, fails.id);
  await engine.leases.fail(LEFT, fails.id, failing.job.leaseToken, 'no luck', true);
  await engine.leases.claim(LEFT, pooled.id);
  await engine.leases.claimNext(LEFT, { targets: ['any'], max: 10, waitMs: 0 });
  await settleAll(engine, store);
  const anew = { title: 'Later', description: 'said anew', params: { y: 2 }, type: 'review' };
  await engine.bots.change(HEAD, later, { ...anew, target: 'left-claw', priority: 3 }, null);
  await engine.jobs.change(HEAD, later.id, { params: { y: 3 }, tags: ['c'], priority: 4, runAt: 0 });
  await engine.jobs.cancel(HEAD, later.id, 'not needed');
  await settleAll(engine, store);
  await engine.routing.pause(HEAD, 'target', 'right-claw');
  await makeQuestions({ engine, clock });
}

/** Jobs that ask: one waits, one went on with its checkpoint, one was cancelled, one is done, one was answered by nobody. */
async function makeQuestions({ engine, clock }: Pick<Bench, 'engine' | 'clock'>): Promise<void> {
  const drafts = ['open', 'answered', 'closed', 'ended', 'late', 'vain'].map((title) => ({
    target: 'any',
    title,
  }));
  const { jobs } = await engine.jobs.create(HEAD, drafts);
  const asked: string[] = [];
  for (const { id, no } of jobs) {
    const { job } = await engine.leases.claim(LEFT, id);
    await engine.leases.checkpoint(LEFT, id, job.leaseToken, { of: no });
    const { question } = await engine.questions.ask(LEFT, id, job.leaseToken, {
      question: `What about ${no}? ünï`,
      to: 'head',
      timeoutMs: no === jobs[4]?.no || no === jobs[5]?.no ? 1 : 3_600_000,
      ...(no === jobs[4]?.no && { default: null, schema: { type: ['null', 'string'] } }),
      ...(no === jobs[1]?.no && { choices: ['a', 'b'] }),
    });
    asked.push(question?.id ?? '');
  }
  const [, answered, closed, ended] = jobs as [Job, Job, Job, Job];
  await engine.questions.answer(HEAD, asked[1] ?? '', 'b');
  const { job } = await engine.leases.claim(LEFT, answered.id);
  await engine.leases.checkpoint(LEFT, answered.id, job.leaseToken, 'further');
  await engine.jobs.cancel(HEAD, closed.id, null);
  await engine.questions.answer(HEAD, asked[3] ?? '', { n: 1 });
  const last = await engine.leases.claim(LEFT, ended.id);
  await engine.leases.complete(LEFT, ended.id, last.job.leaseToken, 'ok');
  clock.pass(10);
  for (const id of asked.slice(4)) await timeOutQuestion(engine.core, id);
}

/** What the settling loop does. */
export async function settleAll(engine: OpenEngine, store: Store): Promise<void> {
  for (
    let nos = await store.read.jobs.unsettled(100);
    nos.length > 0;
    nos = await store.read.jobs.unsettled(100)
  ) {
    await settle(engine.core, nos);
  }
}

export interface Everything {
  readonly job: Job;
  readonly details: JobDetails | undefined;
  readonly events: readonly JobEvent[];
  readonly after: readonly JobDependency[];
  /** Without the numbers of their rows, and the leases that they ended. */
  readonly questions: readonly object[];
  readonly checkpoint: string | undefined;
}

export async function allJobs(store: Store): Promise<Job[]> {
  return store.read.jobs.list({
    states: STATES,
    targets: null,
    typeNo: null,
    tag: null,
    order: 'oldest',
    from: null,
    limit: 100_000,
  });
}

/** All that a store knows about its jobs, to be compared. */
export async function everything(store: Store): Promise<Everything[]> {
  const jobs = await allJobs(store);
  const details = await store.read.details.of(jobs);
  const all: Everything[] = [];
  for (const job of jobs) {
    const after = await store.read.dependencies.of([job.no]);
    all.push({
      job,
      details: details.get(job.no),
      events: await store.read.feed.ofJob(job.no, 0, 100_000),
      after,
      questions: (
        await store.read.questions.list({ jobNo: job.no, limit: 100, targets: null, reader: '' })
      ).map((question) => ({ ...question, no: 0, leaseToken: null })),
      checkpoint: (await store.read.checkpoints.byNo([job.no])).get(job.no),
    });
  }
  return all;
}
