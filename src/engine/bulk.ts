/** Verbs on all jobs that fit a filter. A row says how far each is, and changes in the transaction that changes the jobs. */

import { type Bulk, type BulkAction, type BulkFilter, statesFor } from '../domain/bulk.ts';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import { audit } from './audit.ts';
import type { Core } from './core.ts';
import type { BulkDraft, Bulks } from './engine.ts';
import { serves } from '../domain/lease.ts';

/** How many jobs one look at a filter reads, while it counts. */
const LOOK = 500;

export function bulksOf(core: Core): Bulks {
  const { store, flusher } = core;
  const get = async (actor: Actor, id: string): Promise<Bulk> =>
    seenBy(actor, await store.read.bulks.byId(id), id);
  return {
    get,
    list: async (actor, limit) => (await store.read.bulks.list(limit)).filter((bulk) => maySee(actor, bulk)),
    count: async (actor, draft) => count(core, actor, await filterOf(core, actor, draft)),
    start: async (actor, draft) => {
      const filter = await filterOf(core, actor, draft);
      const lastNo = await store.read.jobs.lastNo();
      const found = await count(core, actor, filter);
      const bulk = newBulk(core, actor, draft.action, filter, { count: found, lastNo });
      await flusher.transact(actor, async (tx, changeSet) => {
        if ((await tx.bulks.running()) >= LIMITS.bulks)
          throw new SpineError('conflict', { limit: LIMITS.bulks, problem: TOO_MANY });
        await tx.bulks.add(bulk);
        const facts = { id: bulk.id, filter: draft.filter, count: found };
        await audit(tx, changeSet, actor, `jobs.${draft.action}`, 'bulk', facts);
      });
      core.hints.bulk();
      return get(actor, bulk.id);
    },
    cancel: async (actor, id) => {
      await flusher.transact(actor, async (tx, changeSet) => {
        const bulk = seenBy(actor, await tx.bulks.lock(id), id);
        if (bulk.state !== 'running') return;
        await tx.bulks.save({ ...bulk, state: 'cancelled', endedAt: changeSet.now });
        await audit(tx, changeSet, actor, 'bulk.cancel', id, { changed: bulk.changed });
      });
      return get(actor, id);
    },
  };
}

/** What reaches further than the caller is answered like what is not there. */
function seenBy(actor: Actor, bulk: Bulk | null, id: string): Bulk {
  if (bulk === null || !maySee(actor, bulk)) throw new SpineError('not_found', { id });
  return bulk;
}

function maySee(actor: Actor, { filter: { targets } }: Bulk): boolean {
  return actor.targets === null || (targets !== null && targets.every((target) => serves(actor, target)));
}

const TOO_MANY = `${LIMITS.bulks} such calls are under way: wait until one has ended, or cancel it.`;

function newBulk(
  core: Core,
  actor: Actor,
  action: BulkAction,
  filter: BulkFilter,
  found: Pick<Bulk, 'count' | 'lastNo'>,
): Omit<Bulk, 'no'> {
  const now = core.now();
  return {
    id: core.ids.jobId(now),
    action,
    filter,
    ...found,
    state: 'running',
    createdBy: actor.name,
    role: actor.role,
    createdAt: now,
    steppedAt: now,
    endedAt: null,
    doneNo: 0,
    changed: 0,
    refused: 0,
  };
}

async function filterOf(core: Core, actor: Actor, { action, filter }: BulkDraft): Promise<BulkFilter> {
  const { type, target, states = null, tag = null, words = null, ...rest } = filter;
  const targets = target === undefined ? actor.targets : serves(actor, target) ? [target] : [];
  const typeNo = type === undefined ? null : ((await core.types()).get(type)?.no ?? -1);
  return { ...rest, states: statesFor(action, states), targets, typeNo, tag, words };
}

/** Look by look, each in its turn: others are answered in between. */
async function count(core: Core, actor: Actor, filter: BulkFilter): Promise<number> {
  let found = 0;
  for (let from: number | null = 0; from !== null; ) {
    const at: number = from;
    const page = await core.longWork.run(actor, async () => core.store.read.bulks.page(filter, at, LOOK));
    found += page.jobs.length;
    if (found > LIMITS.bulkJobs) {
      const problem = `More than ${LIMITS.bulkJobs} jobs fit: narrow the filter.`;
      throw new SpineError('bad_request', { field: 'filter', problem, limit: LIMITS.bulkJobs });
    }
    from = page.next;
  }
  return found;
}
