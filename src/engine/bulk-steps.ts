/** Takes the next few jobs of what was asked for by a filter. Any server may: the row of the call is locked meanwhile. */

import { loopActor } from '../domain/actor.ts';
import type { Bulk, BulkAction } from '../domain/bulk.ts';
import type { Actor, JobCommand } from '../domain/command.ts';
import { decide } from '../domain/decide.ts';
import { isFinal, type Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Tx } from '../store/store.ts';
import type { ChangeSet } from './change-set.ts';
import type { Core } from './core.ts';
import { removeRows } from './removal.ts';
import { whyKept } from './steering.ts';

const STEPPER = loopActor('bulk');

/** So many jobs are changed within a few milliseconds, for which all others wait. */
const STEP = 25;

/** Answers how many jobs it looked at, and whether there is more to do. */
export async function bulkStep(core: Core): Promise<{ readonly done: number; readonly more: boolean }> {
  const toForget: string[] = [];
  const looked = await core.flusher.transact(STEPPER, async (tx, changeSet) => {
    const bulk = await tx.bulks.next();
    if (bulk === null) return null;
    if (bulk.action === 'delete') return { bulk, toDelete: await deletable(tx, bulk) };
    return take(tx, changeSet, bulk, await pageOf(tx, bulk), async (job) =>
      (await act(tx, changeSet, bulk, job)) ? 'changed' : 'refused',
    );
  });
  if (looked === null) return { done: 0, more: false };
  if (typeof looked === 'number') return { done: looked, more: true };
  // Files go before the rows, and once more: without the rows nobody would look for them.
  toForget.push(...looked.toDelete);
  await core.forgetFiles(toForget);
  const done = await deleteStep(core, looked.bulk, new Set(toForget));
  await core.forgetFiles(toForget);
  return { done, more: true };
}

interface Page {
  readonly jobs: readonly Job[];
  /** Null when nothing follows. */
  readonly next: number | null;
}

async function pageOf(tx: Tx, { filter, doneNo, lastNo }: Bulk): Promise<Page> {
  const { jobs, next } = await tx.bulks.page(filter, doneNo, STEP);
  const own = jobs.filter(({ no }) => no <= lastNo);
  return { jobs: own, next: own.length < jobs.length || (next !== null && next > lastNo) ? null : next };
}

/** Locks the jobs of a page and lets `change` decide each; how far that came is saved with it. */
async function take(
  tx: Tx,
  changeSet: ChangeSet,
  bulk: Bulk,
  { jobs, next }: Page,
  change: (job: Job) => Promise<'changed' | 'refused' | 'later'>,
): Promise<number> {
  const counts = { changed: 0, refused: 0, later: 0 };
  for (const job of await tx.jobs.lockByNo(jobs.map(({ no }) => no))) {
    // Somebody may have taken it since the page was read.
    if (bulk.filter.states.includes(job.state)) counts[await change(job)]++;
  }
  const doneNo = counts.later > 0 ? bulk.doneNo : (next ?? bulk.lastNo);
  const ended = next === null && counts.later === 0;
  await tx.bulks.save({
    ...bulk,
    doneNo,
    changed: bulk.changed + counts.changed,
    // Those behind which one waits are looked at once more.
    refused: bulk.refused + (counts.later > 0 ? 0 : counts.refused),
    steppedAt: changeSet.now,
    ...(ended && { state: 'done', endedAt: changeSet.now }),
  });
  return jobs.length;
}

/** Whether it was changed. */
async function act(tx: Tx, changeSet: ChangeSet, bulk: Bulk, found: Job): Promise<boolean> {
  const actor: Actor = { name: bulk.createdBy, role: bulk.role, targets: null };
  const job = changeSet.load(found);
  if (bulk.action !== 'cancel' && (await keyIsTaken(tx, changeSet, job))) return false;
  const decision = decide(job, commandOf(bulk.action, job.id, actor), changeSet.now);
  changeSet.apply(decision, actor);
  if (!decision.answer.ok) return false;
  if (bulk.action === 'cancel') await cancelBelow(tx, changeSet, job, actor);
  return true;
}

function commandOf(action: BulkAction, id: string, actor: Actor): JobCommand {
  if (action === 'retry' || action === 'redrive') return { kind: action, id, actor };
  return { kind: 'cancel', id, actor, reason: null };
}

/** By a job that is there, or by one that this very step opened again. */
async function keyIsTaken(tx: Tx, changeSet: ChangeSet, job: Job): Promise<boolean> {
  if (job.uniqueKey === null) return false;
  if (changeSet.holdsKey(job)) return true;
  return (await tx.jobs.findUnique(job.typeNo, job.uniqueKey)) !== null;
}

/** What it has created ends with it, as it does when the job is cancelled by itself. */
async function cancelBelow(tx: Tx, changeSet: ChangeSet, { no }: Job, actor: Actor): Promise<void> {
  const below = await tx.children.openBelow(no, LIMITS.cascade);
  for (const child of below.length === 0 ? [] : await tx.jobs.lockByNo(below)) {
    const job = changeSet.load(child);
    if (isFinal(job.state)) continue;
    const cancel = { kind: 'cancel', id: job.id, actor, reason: null } as const;
    changeSet.apply(decide(job, cancel, changeSet.now), actor);
  }
}

async function deletable(tx: Tx, bulk: Bulk): Promise<string[]> {
  const { jobs } = await pageOf(tx, bulk);
  const ids: string[] = [];
  for (const job of jobs) if ((await whyKept(tx, job)) === null) ids.push(job.id);
  return ids;
}

/** Removes those whose files are gone; what has become removable since then waits for the next step. */
async function deleteStep(core: Core, { id }: Bulk, ready: ReadonlySet<string>): Promise<number> {
  return core.flusher.transact(STEPPER, async (tx, changeSet) => {
    const bulk = await tx.bulks.lock(id);
    if (bulk?.state !== 'running') return 0;
    const gone: Job[] = [];
    const done = await take(tx, changeSet, bulk, await pageOf(tx, bulk), async (job) => {
      if ((await whyKept(tx, job)) !== null) return 'refused';
      if (!ready.has(job.id)) return 'later';
      gone.push(job);
      return 'changed';
    });
    await removeRows(tx, changeSet, gone);
    return done;
  });
}
