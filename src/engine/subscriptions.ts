/** Who is told of what. */

import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Tx } from '../store/store.ts';
import { checkAlias } from './aliases.ts';
import { audit } from './audit.ts';
import type { Core } from './core.ts';
import type { ShownSubscription, SubscriptionDraft, Subscriptions } from './engine.ts';
import { typeNamed } from './naming-types.ts';

export function subscriptionsOf(core: Core): Subscriptions {
  return {
    list: async () =>
      Promise.all((await core.store.read.subscriptions.all()).map((each) => shown(core, each))),
    add: (actor, draft) => add(core, actor, draft),
    remove: async (actor, id) => {
      await core.flusher.transact(actor, async (tx, changeSet) => {
        if (!(await tx.subscriptions.remove(id))) throw new SpineError('not_found', { id });
        await audit(tx, changeSet, actor, 'subscription.remove', id);
      });
      core.forgetSubscriptions();
    },
  };
}

async function add(core: Core, actor: Actor, draft: SubscriptionDraft): Promise<ShownSubscription> {
  const job = draft.jobId === undefined ? null : await core.store.read.jobs.byId(draft.jobId);
  if (draft.jobId !== undefined && job === null) throw new SpineError('not_found', { id: draft.jobId });
  const made = await core.flusher.transact(actor, async (tx, changeSet) => {
    await checkAlias(tx, draft.alias, 'alias');
    const subscription: Omit<Subscription, 'no'> = {
      id: core.ids.jobId(changeSet.now),
      alias: draft.alias,
      events: draft.events,
      typeNo: await typeNoOf(tx, draft.type, changeSet.now),
      scheduleId: draft.scheduleId ?? null,
      target: draft.target ?? null,
      jobNo: job?.no ?? null,
      createdAt: changeSet.now,
      createdBy: actor.name,
    };
    if ((await tx.subscriptions.add(subscription)) > LIMITS.subscriptions)
      throw new SpineError('bad_request', {
        field: 'alias',
        problem: `there are ${LIMITS.subscriptions} subscriptions already, and no more are kept; remove some first`,
      });
    await audit(tx, changeSet, actor, 'subscription.add', subscription.id, { alias: draft.alias });
    return { no: 0, ...subscription };
  });
  core.forgetTypes();
  core.forgetSubscriptions();
  return shown(core, made);
}

/** A type may be named before the first job of it. */
async function typeNoOf(tx: Tx, name: string | undefined, now: number): Promise<number | null> {
  return name === undefined ? null : (await typeNamed(tx, name, now)).no;
}

async function shown(core: Core, subscription: Subscription): Promise<ShownSubscription> {
  const { typeNo, jobNo } = subscription;
  const type = typeNo === null ? null : ((await core.typesByNo()).get(typeNo)?.name ?? null);
  const [job] = jobNo === null ? [] : await core.store.read.jobs.byNo([jobNo]);
  return { ...subscription, type, jobId: job?.id ?? null };
}
