/** Schedules as people handle them: make, change, switch, cancel, run now. */

import { chainProblem } from '../domain/chain.ts';
import { ticksBetween } from '../domain/cron.ts';
import { ruleInWords } from '../domain/cron-words.ts';
import type { Actor } from '../domain/command.ts';
import { decide } from '../domain/decide.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import { completeSchedule } from '../domain/schedule-draft.ts';
import { type Schedule, type ScheduleSpec, timeRule } from '../domain/schedule.ts';
import type { Tx } from '../store/store.ts';
import { audit } from './audit.ts';
import type { Core } from './core.ts';
import type { CancelledSchedules, Schedules } from './engine.ts';
import { fire } from './firing.ts';
import { firstTick, forgetHeldTicks } from './holding.ts';
import type { Ledger } from './ledger.ts';

export function schedulesOf(core: Core): Schedules {
  const { store } = core;
  return {
    get: (which) => find(core, which),
    list: async (filter) => store.read.schedules(filter),
    waiting: async (schedules) => store.read.waitingRuns(schedules.map(({ id }) => id)),
    edges: async () => store.read.scheduleEdges(),
    create: (actor, draft) => create(core, actor, draft),
    update: (actor, which, patch) => update(core, actor, which, patch),
    enable: (actor, which, enabled) => enable(core, actor, which, enabled),
    remove: (actor, which) => remove(core, actor, which),
    cancel: (actor, which, cascade) => cancel(core, actor, which, cascade),
    run: (actor, which) => runNow(core, actor, which),
    preview: async (which, count) => {
      const schedule = await find(core, which);
      const rule = timeRule(schedule);
      const until = Number.MAX_SAFE_INTEGER;
      const ticks = rule === null ? [] : ticksBetween(rule, core.now(), until, count).ticks;
      return { ticks, words: ruleInWords(rule) };
    },
    missed: async (which, limit) => store.read.missedTicks((await find(core, which)).id, limit),
  };
}

/** By id, or by the beginning of one. */
async function find(core: Core, which: string): Promise<Schedule> {
  const found = /^[0-9a-f-]{4,36}$/.test(which) ? await core.store.read.schedulesByPrefix(which, 2) : [];
  const [schedule] = found;
  if (schedule === undefined) throw new SpineError('not_found', { id: which });
  if (found.length > 1 && schedule.id !== which)
    throw new SpineError('conflict', {
      id: which,
      problem: `Several schedules have an id that begins with ${which}; write more of it.`,
    });
  return schedule;
}

function completed(
  core: Core,
  draft: Readonly<Record<string, unknown>>,
  base: ScheduleSpec | null,
): { spec: ScheduleSpec; enabled: boolean | undefined } {
  const { shell, gateways } = core.scheduling;
  const answer = completeSchedule(draft, base, { now: core.now(), shellAllowed: shell, gateways });
  if (answer.ok) return answer;
  throw new SpineError('bad_request', { field: answer.field, problem: answer.problem });
}

async function checkRoom(tx: Tx): Promise<void> {
  const schedules = await tx.countSchedules();
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
  const [parent] = await tx.lockSchedules([parentId]);
  const edges = await tx.edgesAround(schedule.id, parentId);
  const fanout = parent?.spec.maxTriggerFanout ?? 0;
  const limits = { depth: core.scheduling.chainDepth, fanout };
  const problem = chainProblem(edges, { id: schedule.id, parentId, name }, limits);
  if (problem !== null) throw new SpineError('bad_request', problem);
}

async function ensureNamed(tx: Tx, spec: ScheduleSpec, now: number): Promise<void> {
  if (spec.resourcePool !== null)
    await tx.ensurePool({ name: spec.resourcePool, capacity: 1, perKey: 1 }, now);
  if (spec.type === null) return;
  await tx.saveType(
    { name: spec.type, label: spec.type, sop: null, paramsSchema: null, onlyIfMissing: true },
    now,
  );
}

export async function insertSchedule(
  core: Core,
  tx: Tx,
  now: number,
  by: string,
  made: { readonly spec: ScheduleSpec; readonly enabled: boolean; readonly spawnedBy: string | null },
): Promise<Schedule> {
  const { spec, enabled, spawnedBy } = made;
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
  };
  row.nextRunAt = firstTick(row, now);
  await tx.lockChains();
  await checkRoom(tx);
  await checkChain(core, tx, row);
  await ensureNamed(tx, spec, now);
  return { no: await tx.insertSchedule(row), ...row };
}

async function create(core: Core, actor: Actor, draft: Readonly<Record<string, unknown>>): Promise<Schedule> {
  const { spec, enabled = true } = completed(core, draft, null);
  const schedule = await core.flusher.transact(actor, async (tx, ledger) => {
    const made = await insertSchedule(core, tx, ledger.now, actor.name, { spec, enabled, spawnedBy: null });
    await audit(tx, ledger, actor, 'schedule.create', made.id, { name: spec.name });
    return made;
  });
  // Only now others can read the type that it may have brought.
  core.forgetTypes();
  core.hints.scheduled();
  return schedule;
}

/** Runs a change on the locked row, then looks at its clock again. */
async function change(
  core: Core,
  actor: Actor,
  which: string,
  action: string,
  work: (schedule: Schedule, tx: Tx, ledger: Ledger) => Promise<Schedule>,
): Promise<Schedule> {
  const { id } = await find(core, which);
  const saved = await core.flusher.transact(actor, async (tx, ledger) => {
    const [schedule] = await tx.lockSchedules([id]);
    if (schedule === undefined) throw new SpineError('not_found', { id });
    const next = await work(schedule, tx, ledger);
    const changed: Schedule = { ...next, updatedAt: ledger.now };
    await tx.saveSchedules([changed]);
    await audit(tx, ledger, actor, action, id, { name: changed.spec.name });
    return changed;
  });
  core.forgetTypes();
  core.hints.scheduled();
  return saved;
}

function update(
  core: Core,
  actor: Actor,
  which: string,
  patch: Readonly<Record<string, unknown>>,
): Promise<Schedule> {
  return change(core, actor, which, 'schedule.update', async (schedule, tx, ledger) => {
    const { spec, enabled = schedule.enabled } = completed(core, patch, schedule.spec);
    const next = { ...schedule, spec, enabled };
    await tx.lockChains();
    await checkChain(core, tx, next);
    await ensureNamed(tx, spec, ledger.now);
    const rule = JSON.stringify(timeRule(next));
    const same = enabled === schedule.enabled && rule === JSON.stringify(timeRule(schedule));
    return same ? next : await restarted(tx, ledger.now, next, schedule);
  });
}

function enable(core: Core, actor: Actor, which: string, enabled: boolean): Promise<Schedule> {
  const action = enabled ? 'schedule.enable' : 'schedule.disable';
  return change(core, actor, which, action, async (schedule, tx, ledger) => {
    if (schedule.enabled === enabled) return schedule;
    return restarted(tx, ledger.now, { ...schedule, enabled }, schedule);
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
  return core.flusher.transact(actor, async (tx, ledger) => {
    await tx.lockChains();
    const schedules = await tx.lockSchedules(await tx.subtreeOf(id));
    const ids = schedules.map((each) => each.id);
    const runs = await cancelRuns(tx, ledger, actor, ids, 'its schedule was deleted');
    await tx.deleteSchedules(ids);
    await audit(tx, ledger, actor, 'schedule.delete', id, { schedules: ids.length, runs: runs.length });
    return { schedules: ids, runs };
  });
}

/** Switches a schedule off and stops what runs; with `cascade` everything below it too. */
async function cancel(
  core: Core,
  actor: Actor,
  which: string,
  cascade: boolean,
): Promise<CancelledSchedules> {
  const { id } = await find(core, which);
  return core.flusher.transact(actor, async (tx, ledger) => {
    const schedules = await tx.lockSchedules(cascade ? await tx.subtreeOf(id) : [id]);
    for (const schedule of schedules) {
      schedule.enabled = false;
      schedule.nextRunAt = null;
      schedule.updatedAt = ledger.now;
    }
    await tx.saveSchedules(schedules);
    const ids = schedules.map((each) => each.id);
    const runs = await cancelRuns(tx, ledger, actor, ids, 'its schedule was cancelled');
    await audit(tx, ledger, actor, 'schedule.cancel', id, { schedules: ids.length, runs: runs.length });
    return { schedules: ids, runs };
  });
}

async function cancelRuns(
  tx: Tx,
  ledger: Ledger,
  actor: Actor,
  scheduleIds: readonly string[],
  reason: string,
): Promise<string[]> {
  const ids = await tx.openRuns(scheduleIds, LIMITS.cascade);
  const everywhere = { ...actor, targets: null };
  for (const found of ids.length === 0 ? [] : await tx.lockJobs(ids)) {
    const job = ledger.load(found);
    ledger.apply(decide(job, { kind: 'cancel', id: job.id, actor: everywhere, reason }, ledger.now), actor);
  }
  return ids;
}

/** A run by hand: the schedule's own clock does not notice. */
async function runNow(core: Core, actor: Actor, which: string) {
  const { id } = await find(core, which);
  await core.types();
  return core.flusher.transact(actor, async (tx, ledger) => {
    const [schedule] = await tx.lockSchedules([id]);
    if (schedule === undefined) throw new SpineError('not_found', { id });
    const job = await fire(core, tx, ledger, schedule, { kind: 'manual', dueAt: null });
    await tx.saveSchedules([schedule]);
    await audit(tx, ledger, actor, 'schedule.run', id, { run: job.id });
    return job;
  });
}
