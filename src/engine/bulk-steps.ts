/** Takes the next few jobs of what was asked for by a filter. Any server may: the row of the call is locked meanwhile. */

import { loopActor } from '../domain/actor.ts';
import type { Bulk } from '../domain/bulk.ts';
import type { Actor } from '../domain/command.ts';
import { decide } from '../domain/decide.ts';
import type { Job } from '../domain/job.ts';
import type { Tx } from '../store/store.ts';
import { cancelAll, FAMILY_PIECE } from './cancelling.ts';
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
    if (bulk.action === 'cancel') return cancelStep(tx, changeSet, bulk);
    const { action } = bulk;
    return take(tx, changeSet, bulk, await pageOf(tx, bulk), async (job) =>
      (await reopen(tx, changeSet, action, actorOf(bulk), job)) ? 'changed' : 'refused',
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

interface Families {
  readonly page: Page;
  /** What hangs below each job of the page. */
  readonly below: ReadonlyMap<number, readonly number[]>;
  /** The page is one job, and more hangs below it than one step ends. */
  readonly tooMany: boolean;
}

/** Jobs with all that they created, or a part of what one of them created: then it has its turn again. */
async function cancelStep(tx: Tx, changeSet: ChangeSet, bulk: Bulk): Promise<number> {
  const { page, below, tooMany } = await withFamilies(tx, await pageOf(tx, bulk));
  const asked = { actor: actorOf(bulk), reason: null };
  // With the page itself: whoever locks in the order of the numbers never waits in a circle.
  const locked = await tx.jobs.lockByNo([...below].flatMap(([no, nos]) => [no, ...nos]));
  return take(tx, changeSet, bulk, page, async (job) => {
    cancelAll(changeSet, locked, new Set(below.get(job.no)), asked);
    if (tooMany) return 'later';
    const decision = decide(changeSet.load(job), { kind: 'cancel', id: job.id, ...asked }, changeSet.now);
    changeSet.apply(decision, asked.actor);
    return decision.answer.ok ? 'changed' : 'refused';
  });
}

/** As much of the page as one step ends with all below it, and at least its first job. */
async function withFamilies(tx: Tx, page: Page): Promise<Families> {
  const below = new Map<number, readonly number[]>();
  let room = FAMILY_PIECE;
  for (const { no } of page.jobs) {
    const own = await tx.children.openBelow([no]);
    if (own.length > room && below.size > 0) break;
    below.set(no, own.slice(0, room));
    room -= own.length;
    if (room < 0) break;
  }
  const jobs = page.jobs.slice(0, below.size);
  const next = jobs.length < page.jobs.length ? (jobs.at(-1)?.no ?? null) : page.next;
  return { page: { jobs, next }, below, tooMany: room < 0 };
}

/** Whether it was opened again. */
async function reopen(
  tx: Tx,
  changeSet: ChangeSet,
  kind: 'retry' | 'redrive',
  actor: Actor,
  found: Job,
): Promise<boolean> {
  const job = changeSet.load(found);
  if (await keyIsTaken(tx, changeSet, job)) return false;
  const decision = decide(job, { kind, id: job.id, actor }, changeSet.now);
  changeSet.apply(decision, actor);
  return decision.answer.ok;
}

function actorOf({ createdBy: name, role }: Bulk): Actor {
  return { name, role, targets: null };
}

/** By a job that is there, or by one that this very step opened again. */
async function keyIsTaken(tx: Tx, changeSet: ChangeSet, job: Job): Promise<boolean> {
  if (job.uniqueKey === null) return false;
  if (changeSet.holdsKey(job)) return true;
  return (await tx.jobs.findUnique(job.typeNo, job.uniqueKey)) !== null;
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
