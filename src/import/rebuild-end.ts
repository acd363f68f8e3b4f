/** The last steps of a rebuild: what follows from the rows as they ended up. */

import type { JobType } from '../domain/job-type.ts';
import { type Job, SETTLED, UNSETTLED } from '../domain/job.ts';
import { isKeyPool, needsSlots, type Pool, slotPools } from '../domain/pool.ts';
import type { Routing } from '../domain/routing.ts';
import type { ScheduleFacts } from '../files/journal-line.ts';
import type { Store, Tx } from '../store/store.ts';
import { count } from './counts.ts';
import { linkDependencies } from './dependencies.ts';
import type { JobReplay } from './rebuild-jobs.ts';
import { finishQuestions } from './rebuild-questions.ts';
import { finishApprovals, finishRuns } from './rebuild-runs.ts';
import { putSchedules } from './rebuild-schedules.ts';

const BATCH = 500;

/** The newest of each; a later line replaces an earlier one. */
export interface Settings {
  readonly types: Map<number, JobType>;
  pools: readonly Pool[];
  pauses: Routing['pauses'];
  readonly schedules: Map<string, ScheduleFacts>;
  /** Runs of which it is known that they have settled, unless a later line has news of them. */
  readonly settled: Set<number>;
}

/** Answers how many schedules there are. */
export async function finishRebuild(
  store: Store,
  replay: JobReplay,
  settings: Settings,
  now: number,
): Promise<number> {
  await store.transaction(0, async (tx) => {
    for (const type of settings.types.values()) await tx.types.insertRaw(type);
    for (const pool of settings.pools) await tx.pools.save(pool, now);
    for (const pause of settings.pauses) await tx.routing.pause(pause);
  });
  await inBatches([...replay.displaced], (nos) => store.transaction(0, (tx) => endUncertain(tx, nos, now)));
  const cutOff = [...replay.lastCommit].filter((no) => !replay.ahead.has(no));
  await inBatches([...replay.ahead.keys()], (nos) => store.transaction(0, (tx) => closeGap(tx, nos, now)));
  await inBatches(cutOff, (nos) => store.transaction(0, (tx) => retryAgain(tx, nos, now)));
  await inBatches([...replay.after.keys()], (nos) =>
    store.transaction(0, (tx) => addDependencies(tx, nos, replay)),
  );
  await finishRuns(store, replay.runs, settings.settled);
  await finishApprovals(store, replay.withApproval);
  await finishQuestions(store, replay.withQuestions);
  const schedules = await putSchedules(store, [...settings.schedules.values()], now);
  await giveSlots(store);
  // The files beside the new database are its own: they must not be taken for those of v0.
  await store.transaction(0, async (tx) =>
    tx.meta.set('v0Import', JSON.stringify({ at: now, rebuilt: true })),
  );
  return schedules;
}

async function inBatches<T>(
  all: readonly T[],
  work: (some: readonly T[]) => Promise<unknown>,
): Promise<void> {
  for (let i = 0; i < all.length; i += BATCH) await work(all.slice(i, i + BATCH));
}

/** The journal ended before the line that would say how these ended. */
async function endUncertain(tx: Tx, nos: readonly number[], now: number): Promise<void> {
  for (const before of await tx.jobs.lockByNo(nos)) {
    const after: Job = {
      ...before,
      state: 'failed',
      settled: SETTLED,
      reason: 'the journal ends before this job did',
      leaseToken: null,
      leaseUntil: null,
    };
    await record(tx, before, after, now);
    await count(tx, [
      { target: before.target, state: before.state, by: -1 },
      { target: after.target, state: 'failed', by: 1 },
    ]);
  }
}

/** The row tells of something whose event the journal lacks: one event says so, and the sequence has no gap. */
async function closeGap(tx: Tx, nos: readonly number[], now: number): Promise<void> {
  for (const before of await tx.jobs.lockByNo(nos)) {
    const settled = (await lostItsRetry(tx, before)) ? UNSETTLED : before.settled;
    await record(tx, before, { ...before, settled }, now);
  }
}

/** The journal was cut off between a job that is retried and its retry, which are of one commit. */
async function retryAgain(tx: Tx, nos: readonly number[], now: number): Promise<void> {
  for (const before of await tx.jobs.lockByNo(nos))
    if (await lostItsRetry(tx, before)) await record(tx, before, { ...before, settled: UNSETTLED }, now);
}

async function lostItsRetry(tx: Tx, job: Job): Promise<boolean> {
  return job.retryAt !== null && job.settled === SETTLED && (await nextOf(tx, job)) === null;
}

async function nextOf(tx: Tx, job: Job): Promise<Job | null> {
  const last = await tx.jobs.lastOfLineage(job.rootNo ?? job.no);
  return last === null || last.no === job.no ? null : last;
}

async function record(tx: Tx, before: Job, after: Job, now: number): Promise<void> {
  const seq = before.seq + 1;
  const facts = { from: 'journal', state: after.state };
  await tx.jobs.update([{ before, after: { ...after, seq }, kind: 'other' }]);
  await tx.feed.add([{ jobNo: before.no, seq, at: now, kind: 'job.imported', by: 'system', facts }], now);
}

async function addDependencies(tx: Tx, nos: readonly number[], replay: JobReplay): Promise<void> {
  for (const child of await tx.jobs.lockByNo(nos))
    await linkDependencies(tx, child, replay.after.get(child.no) ?? []);
}

/** Whoever was running holds its slots again. */
async function giveSlots(store: Store): Promise<void> {
  let from = 0;
  for (;;) {
    const page = await store.read.jobs.list({
      states: ['running'],
      targets: null,
      typeNo: null,
      tag: null,
      order: 'oldest',
      from,
      limit: BATCH,
    });
    await store.transaction(0, async (tx) => {
      for (const job of page) if (needsSlots(job)) await takeSlots(tx, job);
    });
    from = page.at(-1)?.no ?? from;
    if (page.length < BATCH) return;
  }
}

async function takeSlots(tx: Tx, job: Job): Promise<void> {
  for (const pool of slotPools(job)) {
    if (isKeyPool(pool)) await tx.pools.ensureKeySlots(pool, job.pool);
    const [idx] = await tx.pools.freeSlots(pool, 1);
    if (idx !== undefined) await tx.pools.takeSlots([{ pool, idx, jobNo: job.no }]);
  }
}
