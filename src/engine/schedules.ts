/** Schedules as people handle them: make, change, switch, cancel, run now. */

import { chainProblem } from '../domain/chain.ts';
import type { Actor, Cancel } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { serves } from '../domain/lease.ts';
import { LIMITS } from '../domain/limits.ts';
import { unsizedPool } from '../domain/pool.ts';
import { type Asked, completeSchedule } from '../domain/schedule-draft.ts';
import { type Schedule, type ScheduleSpec, targetOf } from '../domain/schedule.ts';
import { clockOf, overBecause, ticksOf } from '../domain/schedule-clock.ts';
import { scheduleInWords } from '../domain/schedule-words.ts';
import type { Tx } from '../store/store.ts';
import { checkDelivery, checkDeliveryAlias } from './aliases.ts';
import { audit } from './audit.ts';
import { cancelAll, cancelBelow, FAMILY_PIECE, inPieces } from './cancelling.ts';
import type { Core } from './core.ts';
import type { CancelledSchedules, Schedules } from './engine.ts';
import { fire } from './firing.ts';
import { typeNamed } from './naming-types.ts';
import { rehearsed } from './rehearsal.ts';
import { firstTick, forgetHeldTicks } from './schedule-backoff.ts';
import type { ChangeSet } from './change-set.ts';

export function schedulesOf(core: Core): Omit<Schedules, 'put' | 'apply'> {
  const { store } = core;
  return {
    get: (actor, which) => seen(core, actor, which),
    list: async (filter) => store.read.schedules.list(filter),
    waiting: async (schedules) => store.read.runs.waiting(schedules.map(({ id }) => id)),
    parentNames: async (schedules) =>
      store.read.schedules.names([...new Set(schedules.flatMap(({ spec }) => spec.parentId ?? []))]),
    edges: async () => store.read.chains.edges(),
    create: (actor, draft) => create(core, actor, draft),
    update: (actor, which, patch, dryRun = false) => update(core, actor, which, patch, dryRun),
    enable: (actor, which, enabled) => enable(core, actor, which, enabled),
    remove: (actor, which) => remove(core, actor, which),
    cancel: (actor, which, cascade) => cancel(core, actor, which, cascade),
    run: (actor, which) => runNow(core, actor, which),
    preview: async (which, count) => comingTicks(await find(core, which), core.now(), count),
    previewDraft: async (draft, count) => {
      const now = core.now();
      const { spec, nextRunAt } = completed(core, 'name' in draft ? draft : { ...PREVIEWED, ...draft }, null);
      // Its own delay comes with its id, so its ticks stand without one.
      const schedule = { id: '', spec: { ...spec, jitterS: 0 }, createdAt: now };
      return {
        ticks:
          nextRunAt === null
            ? comingTicks(schedule, now, count)
            : [nextRunAt, ...comingTicks(schedule, nextRunAt, count - 1)],
        words: scheduleInWords({ spec, createdAt: now }, null),
      };
    },
    missed: async (which, limit) => store.read.ticks.missed((await find(core, which)).id, limit),
  };
}

/** What a rule needs besides to be a schedule; only when it fires is asked for. */
const PREVIEWED = { name: 'preview', session_target: 'queue' };

function comingTicks(
  schedule: Pick<Schedule, 'id' | 'spec' | 'createdAt'>,
  now: number,
  count: number,
): readonly number[] {
  const clock = clockOf(schedule);
  return clock === null ? [] : ticksOf(clock, now, Number.MAX_SAFE_INTEGER, count).ticks;
}

/** Whoever sees only some targets sees only their schedules. */
async function seen(core: Core, actor: Actor, which: string): Promise<Schedule> {
  const schedule = await find(core, which);
  const target = targetOf(schedule.spec);
  if (!serves(actor, target)) throw new SpineError('forbidden', { target });
  return schedule;
}

/** By id, or by the beginning of one. */
async function find(core: Core, which: string): Promise<Schedule> {
  const found = /^[0-9a-f-]{4,36}$/.test(which) ? await core.store.read.schedules.byPrefix(which, 2) : [];
  const [schedule] = found;
  if (schedule === undefined) throw new SpineError('not_found', { id: which });
  if (found.length > 1 && schedule.id !== which)
    throw new SpineError('conflict', {
      id: which,
      problem: `Several schedules have an id that begins with ${which}; write more of it.`,
    });
  return schedule;
}

export function completed(
  core: Core,
  draft: Readonly<Record<string, unknown>>,
  base: ScheduleSpec | null,
): Asked {
  const { shell, gateways } = core.scheduling;
  const answer = completeSchedule(draft, base, { now: core.now(), shellAllowed: shell, gateways });
  if (answer.ok) return answer;
  throw new SpineError('bad_request', { field: answer.field, problem: answer.problem });
}

async function checkRoom(tx: Tx): Promise<void> {
  const { count: schedules } = await tx.schedules.mark();
  if (schedules < LIMITS.schedules) return;
  throw new SpineError('bad_request', {
    field: 'name',
    problem: `there are ${schedules} schedules already, and no more than ${LIMITS.schedules} are kept; delete some first`,
  });
}

/** The whole subtree is judged, under a lock that lets nobody else change a chain meanwhile. */
async function checkChain(core: Core, tx: Tx, schedule: { id: string; spec: ScheduleSpec }): Promise<void> {
  const { parentId, name } = schedule.spec;
  if (parentId === null) return;
  const [parent] = await tx.schedules.lock([parentId]);
  const edges = await tx.chains.edgesAround(schedule.id, parentId);
  const fanout = parent?.spec.maxTriggerFanout ?? 0;
  const limits = { depth: core.scheduling.chainDepth, fanout };
  const problem = chainProblem(edges, { id: schedule.id, parentId, name }, limits);
  if (problem !== null) throw new SpineError('bad_request', problem);
}

async function ensureNamed(tx: Tx, spec: ScheduleSpec, now: number): Promise<void> {
  if (spec.resourcePool !== null) await tx.pools.ensure(unsizedPool(spec.resourcePool), now);
  if (spec.type !== null) await typeNamed(tx, spec.type, now);
}

export async function insertSchedule(
  core: Core,
  tx: Tx,
  now: number,
  by: string,
  made: Pick<Asked, 'spec' | 'nextRunAt'> & { readonly enabled: boolean; readonly spawnedBy: string | null },
): Promise<Schedule> {
  const { spec, enabled, spawnedBy, nextRunAt } = made;
  const row: Omit<Schedule, 'no'> = {
    id: core.ids.jobId(now),
    spec,
    createdAt: now,
    createdBy: by,
    spawnedBy,
    enabled,
    updatedAt: now,
    nextRunAt: null,
    lastRunAt: null,
    lastStatus: null,
    consecutiveErrors: 0,
    runCount: 0,
  };
  row.nextRunAt = startAt(row, nextRunAt, now);
  await tx.chains.lock();
  await checkRoom(tx);
  // A run's child delivers where its parent does, which was judged when that was written.
  if (spawnedBy === null) await checkDeliveryAlias(tx, spec);
  await checkChain(core, tx, row);
  await ensureNamed(tx, spec, now);
  return { no: await tx.schedules.insert(row), ...row };
}

async function create(core: Core, actor: Actor, draft: Readonly<Record<string, unknown>>): Promise<Schedule> {
  const { spec, enabled = true, nextRunAt } = completed(core, draft, null);
  await checkDelivery(core, spec);
  const schedule = await core.flusher.transact(actor, async (tx, changeSet) => {
    const made = await insertSchedule(core, tx, changeSet.now, actor.name, {
      spec,
      enabled,
      nextRunAt,
      spawnedBy: null,
    });
    await audit(tx, changeSet, actor, 'schedule.create', made.id, { name: spec.name });
    return made;
  });
  // Only now others can read the type that it may have brought.
  core.forgetTypes();
  core.hints.scheduled();
  return schedule;
}

type Change = (schedule: Schedule, tx: Tx, changeSet: ChangeSet) => Promise<Schedule>;

/** Runs a change on the locked row, then looks at its clock again. */
async function change(
  core: Core,
  actor: Actor,
  which: string,
  action: string,
  work: Change,
  dryRun = false,
): Promise<Schedule> {
  const { id } = await find(core, which);
  const saved = await rehearsed<Schedule>(dryRun, (end) =>
    core.flusher.transact(actor, async (tx, changeSet) => {
      const [schedule] = await tx.schedules.lock([id]);
      if (schedule === undefined) throw new SpineError('not_found', { id });
      const next = await work(schedule, tx, changeSet);
      const changed: Schedule = { ...next, updatedAt: changeSet.now };
      await tx.schedules.save([changed]);
      await audit(tx, changeSet, actor, action, id, { name: changed.spec.name });
      return end(changed);
    }),
  );
  if (dryRun) return saved;
  core.forgetTypes();
  core.hints.scheduled();
  return saved;
}

async function update(
  core: Core,
  actor: Actor,
  which: string,
  patch: Readonly<Record<string, unknown>>,
  dryRun: boolean,
): Promise<Schedule> {
  // What asks the network is asked before the transaction.
  const { spec: present } = await find(core, which);
  const changed = completed(core, patch, present).spec;
  if (!deliversAlike(changed, present)) await checkDelivery(core, changed);
  const work: Change = async (schedule, tx, changeSet) => {
    await tx.chains.lock();
    return amended(core, tx, changeSet.now, schedule, completed(core, patch, schedule.spec));
  };
  return change(core, actor, which, 'schedule.update', work, dryRun);
}

/** The locked schedule with another spec, not saved yet. What Spine switched off at its end goes on when the end moves. */
export async function amended(
  core: Core,
  tx: Tx,
  now: number,
  schedule: Schedule,
  { spec, enabled, nextRunAt }: Asked,
): Promise<Schedule> {
  const next = { ...schedule, spec };
  const isRevived = overBecause(schedule, now) !== null && overBecause(next, now) === null;
  next.enabled = enabled ?? (schedule.enabled || isRevived);
  if (!deliversAlike(spec, schedule.spec)) await checkDeliveryAlias(tx, spec);
  await checkChain(core, tx, next);
  await ensureNamed(tx, spec, now);
  const clock = JSON.stringify([clockOf(next), spec.maxRuns]);
  const same =
    next.enabled === schedule.enabled && clock === JSON.stringify([clockOf(schedule), schedule.spec.maxRuns]);
  if (nextRunAt !== null && nextRunAt !== schedule.nextRunAt) {
    await forgetHeldTicks(tx, now, schedule);
    return { ...next, nextRunAt: startAt(next, nextRunAt, now) };
  }
  return same ? next : await restarted(tx, now, next, schedule);
}

/** As it was asked for, else by its rule. */
function startAt(schedule: Omit<Schedule, 'no'>, asked: number | null, now: number): number | null {
  const first = firstTick(schedule, now);
  if (asked === null) return first;
  if (first !== null) return Math.max(asked, now);
  const why = schedule.enabled ? 'is over' : 'is switched off; enable it too';
  const problem = `next_run_at is of no use, because the schedule ${why}.`;
  throw new SpineError('bad_request', { field: 'next_run_at', problem });
}

/** A place that was good when it was written stays; only a new one is judged. */
function deliversAlike(one: ScheduleSpec, other: ScheduleSpec): boolean {
  const { deliveryChannel, deliveryTo, probe } = other;
  return one.deliveryChannel === deliveryChannel && one.deliveryTo === deliveryTo && one.probe === probe;
}

function enable(core: Core, actor: Actor, which: string, enabled: boolean): Promise<Schedule> {
  const action = enabled ? 'schedule.enable' : 'schedule.disable';
  return change(core, actor, which, action, async (schedule, tx, changeSet) => {
    if (schedule.enabled === enabled) return schedule;
    const over = enabled ? overBecause(schedule, changeSet.now) : null;
    if (over !== null)
      throw new SpineError('conflict', { id: schedule.id, problem: `It cannot be enabled: ${over}.` });
    return restarted(tx, changeSet.now, { ...schedule, enabled }, schedule);
  });
}

/** Its clock begins anew: what `before` was held back from is to fire when it is shown as next. */
async function restarted(tx: Tx, now: number, next: Schedule, before: Schedule): Promise<Schedule> {
  await forgetHeldTicks(tx, now, before);
  return { ...next, nextRunAt: firstTick(next, now) };
}

/** Goes with everything below it, at once: children without a parent would never run again. */
async function remove(core: Core, actor: Actor, which: string): Promise<CancelledSchedules> {
  const { id } = await find(core, which);
  return inPieces(core, actor, async (tx, changeSet) => {
    await tx.chains.lock();
    return removeFamily(tx, changeSet, actor, id, FAMILY_PIECE);
  });
}

/** Null when its runs have created more jobs than there is room for to end: those that there was room for have ended then. */
export async function removeFamily(
  tx: Tx,
  changeSet: ChangeSet,
  actor: Actor,
  id: string,
  room: number,
): Promise<CancelledSchedules | null> {
  const schedules = await tx.schedules.lock(await tx.chains.subtree(id));
  const ids = schedules.map((each) => each.id);
  const runs = await cancelRuns(tx, changeSet, { actor, reason: 'its schedule was deleted' }, ids, room);
  if (runs === null) return null;
  await tx.schedules.remove(ids);
  await audit(tx, changeSet, actor, 'schedule.delete', id, { schedules: ids.length, runs: runs.length });
  return { schedules: ids, runs };
}

/** Switches a schedule off and stops what runs; with `cascade` everything below it too. */
async function cancel(
  core: Core,
  actor: Actor,
  which: string,
  cascade: boolean,
): Promise<CancelledSchedules> {
  const { id } = await find(core, which);
  return inPieces(core, actor, async (tx, changeSet) => {
    const schedules = await tx.schedules.lock(cascade ? await tx.chains.subtree(id) : [id]);
    for (const schedule of schedules) {
      schedule.enabled = false;
      schedule.nextRunAt = null;
      schedule.updatedAt = changeSet.now;
    }
    await tx.schedules.save(schedules);
    const ids = schedules.map((each) => each.id);
    const asked = { actor, reason: 'its schedule was cancelled' };
    const runs = await cancelRuns(tx, changeSet, asked, ids, FAMILY_PIECE);
    if (runs === null) return null;
    await audit(tx, changeSet, actor, 'schedule.cancel', id, { schedules: ids.length, runs: runs.length });
    return { schedules: ids, runs };
  });
}

/** The ids of the runs; null when there is more below them to end first. */
async function cancelRuns(
  tx: Tx,
  changeSet: ChangeSet,
  asked: Pick<Cancel, 'actor' | 'reason'>,
  scheduleIds: readonly string[],
  room: number,
): Promise<string[] | null> {
  const nos = await tx.runs.open(scheduleIds, LIMITS.cascade);
  if (!(await cancelBelow(tx, changeSet, nos, asked, room))) return null;
  const runs = await tx.jobs.lockByNo(nos);
  cancelAll(changeSet, runs, new Set(nos), asked);
  return runs.map((run) => run.id);
}

/** A run by hand: the schedule's own clock does not notice. */
async function runNow(core: Core, actor: Actor, which: string) {
  const { id } = await find(core, which);
  await core.types();
  return core.flusher.transact(actor, async (tx, changeSet) => {
    const [schedule] = await tx.schedules.lock([id]);
    if (schedule === undefined) throw new SpineError('not_found', { id });
    const job = await fire(core, tx, changeSet, schedule, { kind: 'manual', dueAt: null });
    await tx.schedules.save([schedule]);
    await audit(tx, changeSet, actor, 'schedule.run', id, { run: job.id });
    return job;
  });
}
