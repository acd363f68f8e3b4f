/** What jobs take in tokens and money, and what their types may take in a day. */

import { type Budget, BUDGETS, dollars, usedUp } from '../domain/budget.ts';
import { budgetButtons } from '../domain/button.ts';
import type { Actor } from '../domain/command.ts';
import { dateOf, dayStart, nextDayStart } from '../domain/day.ts';
import { SpineError } from '../domain/error.ts';
import { mayTouch } from '../domain/lease.ts';
import { LIMITS } from '../domain/limits.ts';
import { NO_USAGE, type Usage } from '../domain/usage.ts';
import type { Tx } from '../store/store.ts';
import { audit } from './audit.ts';
import type { ChangeSet } from './change-set.ts';
import type { Core } from './core.ts';
import type { Spending } from './engine.ts';
import { routingChanged, setPaused } from './routing.ts';

/** The name by which budgets pause types: what somebody else has paused is not theirs to resume. */
const FRESH = { usedUpOn: null, raised: 0, raisedOn: null, held: false } as const;

export function spendingOf(core: Core): Spending {
  const { read } = core.store;
  const typeNo = async (name: string): Promise<number> => {
    const type = (await core.types()).get(name);
    if (type === undefined) throw new SpineError('not_found', { type: name });
    return type.no;
  };
  return {
    days: async (count) => {
      const types = await core.typesByNo();
      const days = [];
      for (let i = 0, at = core.now(); i < count; i++) {
        const from = dayStart(core.dayTz, at);
        const before = nextDayStart(core.dayTz, at);
        const [spent, advice] = [
          await read.usage.between(from, before),
          await read.modelCalls.between(from, before),
        ];
        const ofTypes = spent.map(({ typeNo: no, ...rest }) => ({
          type: types.get(no)?.name ?? null,
          ...rest,
        }));
        days.push({ day: dateOf(core.dayTz, from), types: ofTypes, advice });
        at = from - 1;
      }
      return days;
    },
    ofJob: async (actor, id) => {
      const job = await read.jobs.byId(id);
      if (job === null) throw new SpineError('not_found', { id });
      if (!mayTouch(actor, job)) throw new SpineError('forbidden', { target: job.target });
      return read.usage.ofJob(job.no, LIMITS.usageClaims);
    },
    budgets: async () => {
      const [types, spent] = [await core.typesByNo(), await spentToday(core)];
      return (await read.budgets.all()).map((budget) => ({
        ...budget,
        type: types.get(budget.typeNo)?.name ?? '',
        used: spent.get(budget.typeNo) ?? NO_USAGE,
      }));
    },
    setBudget: async (actor, type, { tokens, costMicros }) => {
      const no = await typeNo(type);
      await core.flusher.transact(actor, async (tx, changeSet) => {
        const known = await tx.budgets.lock(no);
        if (known !== null && known.usedUpOn !== null) await resumeType(tx, changeSet, actor, type);
        if (tokens === null && costMicros === null) await tx.budgets.remove(no);
        else await tx.budgets.save({ typeNo: no, tokens, costMicros, ...FRESH });
        await audit(tx, changeSet, actor, 'budget.set', type, { tokens, costMicros });
      });
      routingChanged(core, false);
      core.hints.spent();
    },
    raise: async (actor, type) => {
      const no = await typeNo(type);
      await core.flusher.transact(actor, (tx, changeSet) => raise(core, tx, changeSet, actor, no));
      routingChanged(core, false);
      core.hints.spent();
    },
  };
}

async function spentToday(core: Core): Promise<ReadonlyMap<number, Usage>> {
  const now = core.now();
  const spent = await core.store.read.usage.between(dayStart(core.dayTz, now), nextDayStart(core.dayTz, now));
  return new Map(spent.map(({ typeNo, usage }) => [typeNo, usage]));
}

/** Pauses the types whose budgets are used up, and lets those go on for which a new day has begun; answers how many. */
export async function watchBudgets(core: Core): Promise<number> {
  const budgets = await core.store.read.budgets.all();
  if (budgets.length === 0) return 0;
  const spent = await spentToday(core);
  const dayAt = dayStart(core.dayTz, core.now());
  const { pausedTypes } = await core.routing();
  const due = budgets.filter((budget) =>
    isDue(budget, spent.get(budget.typeNo) ?? NO_USAGE, dayAt, pausedTypes.has(budget.typeNo)),
  );
  for (const { typeNo } of due)
    await judge(core, typeNo, spent.get(typeNo) ?? NO_USAGE, dayAt, pausedTypes.has(typeNo));
  return due.length;
}

/** One whose type somebody has resumed by hand counts anew with the next day, whatever was answered. */
function isDue(budget: Budget, used: Usage, dayAt: number, paused: boolean): boolean {
  if (budget.usedUpOn === null) return usedUp(budget, used, dayAt) !== null;
  return budget.usedUpOn < dayAt && !(budget.held && paused);
}

/** Looks again under the lock: another server may have been faster. */
async function judge(core: Core, typeNo: number, used: Usage, dayAt: number, paused: boolean): Promise<void> {
  const type = (await core.typesByNo()).get(typeNo)?.name;
  const subscribers = await core.subscribers();
  if (type === undefined) return;
  await core.flusher.transact(BUDGETS, async (tx, changeSet) => {
    const budget = await tx.budgets.lock(typeNo);
    if (budget === null || !isDue(budget, used, dayAt, paused)) return;
    if (budget.usedUpOn !== null) {
      await tx.budgets.save({ ...budget, usedUpOn: null });
      return resumeType(tx, changeSet, BUDGETS, type);
    }
    await tx.budgets.save({ ...budget, usedUpOn: dayAt, held: false });
    await setPaused(tx, changeSet, BUDGETS, { kind: 'type', name: type, paused: true });
    const what =
      usedUp(budget, used, dayAt) === 'tokens'
        ? `${used.totalTokens} of ${budget.tokens} tokens`
        : `${dollars(used.costMicros)} of ${dollars(budget.costMicros ?? 0)}`;
    const text = `The budget of ${type} for today is used up: ${what}. It is paused, and goes on tomorrow.`;
    const asked = { kind: 'budget', text, buttons: budgetButtons(typeNo, dayAt) } as const;
    if (subscribers.chat !== null)
      await changeSet.announcer.reply(tx, subscribers.chat, asked, subscribers.newId);
  });
  routingChanged(core, false);
}

/** Only what a budget has paused. */
async function resumeType(tx: Tx, changeSet: ChangeSet, actor: Actor, type: string): Promise<void> {
  const { pauses } = await tx.routing.current();
  if (pauses.some(({ kind, name, by }) => kind === 'type' && name === type && by === BUDGETS.name))
    await setPaused(tx, changeSet, actor, { kind: 'type', name: type, paused: false });
}

async function raise(core: Core, tx: Tx, changeSet: ChangeSet, actor: Actor, typeNo: number): Promise<void> {
  const type = (await core.typesByNo()).get(typeNo)?.name ?? '';
  const budget = await tx.budgets.lock(typeNo);
  if (budget === null)
    throw new SpineError('not_found', { type, problem: `The type ${type} has no budget.` });
  const raisedOn = dayStart(core.dayTz, changeSet.now);
  const raised = 1 + (budget.raisedOn === raisedOn ? budget.raised : 0);
  await tx.budgets.save({ ...budget, usedUpOn: null, held: false, raised, raisedOn });
  await resumeType(tx, changeSet, actor, type);
  await audit(tx, changeSet, actor, 'budget.raise', type, { raised });
}

/** What somebody answers when a budget is used up; of another day it is too late. */
export async function answerBudget(
  core: Core,
  tx: Tx,
  changeSet: ChangeSet,
  actor: Actor,
  {
    verb,
    typeNo,
    dayAt,
  }: { readonly verb: 'raise' | 'tomorrow' | 'hold'; readonly typeNo: number; readonly dayAt: number },
): Promise<string> {
  const type = (await core.typesByNo()).get(typeNo)?.name ?? '';
  const budget = await tx.budgets.lock(typeNo);
  if (budget === null || budget.usedUpOn !== dayAt || dayAt !== dayStart(core.dayTz, changeSet.now))
    throw new SpineError('conflict', {
      type,
      problem: `The budget of ${type} does not wait for an answer any more.`,
    });
  if (verb === 'raise') {
    await raise(core, tx, changeSet, actor, typeNo);
    return `${type} goes on, with as much again for today.`;
  }
  const held = verb === 'hold';
  await tx.budgets.save({ ...budget, held });
  await audit(tx, changeSet, actor, `budget.${verb}`, type);
  return held ? `${type} stays paused until somebody resumes it.` : `${type} goes on tomorrow.`;
}
