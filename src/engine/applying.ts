/** Whole schedules by their names: one at a time, or a set of files at once. All of a set is done, or nothing. */

import { parentsFirst, repeatedNames } from '../domain/apply-order.ts';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Schedule } from '../domain/schedule.ts';
import { fieldChanges, wholeDraft } from '../domain/schedule-replace.ts';
import type { Tx } from '../store/store.ts';
import { deliveryProblem, deliveryProblems } from './applying-delivery.ts';
import { applySettings, knownSettings, settingsProblems } from './applying-settings.ts';
import { type Problem, problemOf } from './apply-problem.ts';
import { audit } from './audit.ts';
import type { Core } from './core.ts';
import type { Applied, ApplyOptions, KeptSchedules, Schedules } from './engine.ts';
import type { ChangeSet } from './change-set.ts';
import { amended, completed, insertSchedule, removeFamily } from './schedules.ts';
import { rehearsed } from './rehearsal.ts';

type Draft = Readonly<Record<string, unknown>>;

/** After so many schedules, some 5 ms of work, calls of others are looked at; the transaction goes on meanwhile. */
const IN_A_ROUND = 10;
/** All that is wrong is said at once, up to so many. */
const SHOWN_PROBLEMS = 50;

export function applyingOf(core: Core): Pick<Schedules, 'put' | 'apply'> {
  return {
    put: async (actor, draft) => {
      const wrong = await deliveryProblem(core, draft);
      if (wrong !== null) throw new SpineError('bad_request', { ...wrong });
      const placed = await core.flusher.transact(actor, async (tx, changeSet) => {
        await tx.chains.lock();
        const [request] = await requestsOf(tx, [draft], null);
        if (request === undefined) throw new SpineError('internal');
        if (request.problem !== null) throw new SpineError('bad_request', { ...request.problem });
        return place({ core, tx, changeSet, actor }, request);
      });
      announce(core);
      return placed;
    },
    apply: async (actor, kept, options) => {
      const known = await knownSettings(core);
      const wrong = [
        ...(await settingsProblems(core, actor, kept)),
        ...(await deliveryProblems(core, kept.schedules)),
      ];
      const applied = await rehearsed<readonly Applied[]>(options.dryRun, (end) =>
        core.flusher.transact(actor, async (tx, changeSet) => {
          const at = { core, tx, changeSet, actor };
          // What is wrong with them is said along with all the rest.
          const settings = wrong.length > 0 ? [] : await applySettings(at, kept, known);
          return end(await applyAll(at, kept, options, settings, wrong));
        }),
      );
      if (!options.dryRun) announce(core);
      return applied;
    },
  };
}

function announce(core: Core): void {
  core.forgetTypes();
  core.hints.scheduled();
}

interface Context {
  readonly core: Core;
  readonly tx: Tx;
  readonly changeSet: ChangeSet;
  readonly actor: Actor;
}

async function applyAll(
  at: Context,
  kept: KeptSchedules,
  options: ApplyOptions,
  settings: readonly Applied[],
  wrong: readonly Problem[],
): Promise<readonly Applied[]> {
  const problems = [...wrong];
  await at.tx.chains.lock();
  const requests = await requestsOf(at.tx, kept.schedules, options.mark);
  const applied = await placeAll(at, requests, problems);
  const gone = await pruned(at, requests, options, problems);
  const [first] = problems;
  if (first !== undefined)
    throw new SpineError('bad_request', { ...first, problems: problems.slice(0, SHOWN_PROBLEMS) });
  const all = [...settings, ...applied, ...gone];
  return all;
}

/** One draft, and what is known of it before it is read. */
interface Request {
  readonly draft: Draft;
  /** What a new one gets; who made one that is there already does not change with what it says. */
  readonly mark: string | null;
  readonly name: string;
  readonly parent: string | null;
  /** The one of that name that is there. */
  existing: Schedule | null;
  parentId: string | null;
  problem: Problem | null;
}

async function requestsOf(tx: Tx, drafts: readonly Draft[], mark: string | null): Promise<Request[]> {
  const requests = drafts.map((draft) => requestOf(draft, mark));
  const names = new Set(requests.flatMap(({ name, parent }) => (parent === null ? [name] : [name, parent])));
  const found = Map.groupBy(await tx.schedules.lockNamed([...names]), ({ spec }) => spec.name);
  for (const request of requests) {
    const [existing = null, another] = found.get(request.name) ?? [];
    request.existing = existing;
    request.problem ??=
      another === undefined
        ? (keeperProblem(existing, mark) ?? fileProblem(request))
        : severalProblem('name', request.name);
    if (request.parent === null || request.problem !== null) continue;
    const [parent, twin] = found.get(request.parent) ?? [];
    request.parentId = parent?.id ?? null;
    if (twin !== undefined) request.problem = severalProblem('parent', request.parent);
  }
  for (const place of repeatedNames(requests.filter(({ name }) => name !== ''))) {
    const request = requests.filter(({ name }) => name !== '')[place];
    if (request !== undefined)
      request.problem ??= {
        field: 'name',
        problem: `name ${quoted(request.name)} stands twice; leave one of them out.`,
      };
  }
  return requests;
}

function requestOf(draft: Draft, mark: string | null): Request {
  const { parent, ...rest } = draft;
  const name = typeof draft['name'] === 'string' ? draft['name'] : '';
  const named = typeof parent === 'string' ? parent : null;
  const isOdd = named === null && (parent ?? null) !== null;
  const problem = isOdd ? { field: 'parent', problem: 'parent must be the name of a schedule.' } : null;
  return { draft: rest, mark, name, parent: named, existing: null, parentId: null, problem };
}

function severalProblem(field: string, name: string): Problem {
  return {
    field,
    problem: `${field} ${quoted(name)} is the name of several schedules; rename or delete all but one.`,
  };
}

/** Two sets of files that both say how one schedule is would change it back and forth. */
function keeperProblem(existing: Schedule | null, mark: string | null): Problem | null {
  const keeper = existing?.spec.managedBy ?? null;
  if (mark === null || keeper === null || keeper === mark || !keeper.startsWith('apply:')) return null;
  return {
    field: 'name',
    problem: `name ${quoted(existing?.spec.name ?? '')} belongs to ${keeper}; take it out there first, or call this one otherwise.`,
  };
}

/** In files it would mean something else every time, or is not theirs to say. */
function fileProblem({ draft, mark }: Request): Problem | null {
  if ((draft['next_run_at'] ?? draft['nextRunAt'] ?? null) !== null)
    return {
      field: 'next_run_at',
      problem:
        'next_run_at is a moment of one schedule and not how it is; leave it out, or send it with PATCH.',
    };
  if (mark === null) return null;
  if ((draft['in'] ?? null) !== null)
    return {
      field: 'in',
      problem: 'in counts from now, which is another time whenever the file is applied; write schedule_at.',
    };
  if ((draft['managed_by'] ?? draft['managedBy'] ?? null) === null) return null;
  return { field: 'managed_by', problem: 'managed_by is set by apply; leave it out.' };
}

async function placeAll(at: Context, requests: readonly Request[], problems: Problem[]): Promise<Applied[]> {
  const order = parentsFirst(requests);
  const placed = new Map<string, Schedule>();
  const applied: Applied[] = [];
  const refuse = (index: number, { field, problem }: Problem): void =>
    void problems.push({ field: `schedules[${index}].${field}`, problem });
  for (const [index, { name }] of requests.entries())
    if (!order.includes(index))
      refuse(index, {
        field: 'parent',
        problem: `parent of ${quoted(name)} closes a circle; choose another.`,
      });
  for (const [done, index] of order.entries()) {
    const request = requests[index];
    if (request === undefined) continue;
    if (done % IN_A_ROUND === IN_A_ROUND - 1) await new Promise((resolve) => setImmediate(resolve));
    request.parentId =
      (request.parent === null ? undefined : placed.get(request.parent)?.id) ?? request.parentId;
    if (request.problem !== null) {
      refuse(index, request.problem);
      continue;
    }
    try {
      const { schedule, action, changes } = await place(at, request);
      placed.set(request.name, schedule);
      applied.push({ kind: 'schedule', name: request.name, id: schedule.id, action, changes });
    } catch (error) {
      refuse(index, problemOf(error));
    }
  }
  return applied;
}

type Placed = { schedule: Schedule; action: 'create' | 'change' | 'unchanged'; changes: Applied['changes'] };

/** Makes one schedule as it is asked for; the chains are locked. */
async function place({ core, tx, changeSet, actor }: Context, request: Request): Promise<Placed> {
  const draft = withParent(request);
  const { existing } = request;
  if (existing === null) {
    const marked = request.mark === null ? draft : { ...draft, managed_by: request.mark };
    const { spec, enabled = true, nextRunAt } = completed(core, marked, null);
    const schedule = await insertSchedule(core, tx, changeSet.now, actor.name, {
      spec,
      enabled,
      nextRunAt,
      spawnedBy: null,
    });
    await audit(tx, changeSet, actor, 'schedule.create', schedule.id, { name: spec.name });
    return { schedule, action: 'create', changes: [] };
  }
  const next = await amended(
    core,
    tx,
    changeSet.now,
    existing,
    completed(core, wholeDraft(draft), existing.spec),
  );
  const changes = fieldChanges(existing, next);
  if (changes.length === 0) return { schedule: existing, action: 'unchanged', changes };
  const schedule: Schedule = { ...next, updatedAt: changeSet.now };
  await tx.schedules.save([schedule]);
  await audit(tx, changeSet, actor, 'schedule.update', schedule.id, { name: schedule.spec.name });
  return { schedule, action: 'change', changes };
}

function withParent({ draft, parent, parentId }: Request): Draft {
  if (parent === null) return draft;
  if (parentId !== null) return { ...draft, parent_id: parentId };
  const problem = `parent ${quoted(parent)} is not a schedule; use the name of one.`;
  throw new SpineError('bad_request', { field: 'parent', problem });
}

/** What the set made before and does not hold any more. */
async function pruned(
  { tx, changeSet, actor }: Context,
  requests: readonly Request[],
  { mark, prune }: ApplyOptions,
  problems: Problem[],
): Promise<Applied[]> {
  const names = new Set(requests.map(({ name }) => name));
  const extra = (await tx.chains.edgesManagedBy(mark)).filter(({ name }) => !names.has(name));
  const ids = new Set(extra.map(({ id }) => id));
  const applied: Applied[] = [];
  for (const { id, name, parentId } of extra) {
    applied.push({ kind: 'schedule', name, id, action: prune ? 'prune' : 'extra', changes: [] });
    // It goes with its parent.
    if (!prune || (parentId !== null && ids.has(parentId))) continue;
    const family = await tx.schedules.lock(await tx.chains.subtree(id));
    const stranger = family.find((each) => !ids.has(each.id) && each.spawnedBy === null);
    if (stranger === undefined) await removeFamily(tx, changeSet, actor, id, Infinity);
    else
      problems.push({
        field: 'prune',
        problem: `${quoted(name)} cannot be pruned, because ${quoted(stranger.spec.name)} hangs below it, which ${mark} did not make; move or delete that first.`,
      });
    if (applied.length >= LIMITS.cascade) break;
  }
  return applied;
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, LIMITS.nameChars));
}
