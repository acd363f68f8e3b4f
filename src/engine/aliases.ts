/** Names for places that texts are delivered to, and whether a place may be used at all. */

import { destinationOf, placeProblem, type Place } from '../domain/alias.ts';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { isProbeUrl } from '../domain/probe.ts';
import { LIMITS } from '../domain/limits.ts';
import type { ScheduleSpec } from '../domain/schedule.ts';
import type { Tx } from '../store/store.ts';
import { audit } from './audit.ts';
import type { Core } from './core.ts';
import type { Aliases } from './engine.ts';

export function aliasesOf(core: Core): Aliases {
  return {
    list: async () => core.store.read.aliases.all(),
    save: async (actor, draft) => {
      await checkPlace(core, draft, { channel: 'channel', target: 'target' });
      return core.flusher.transact(actor, async (tx, changeSet) => {
        const known = await tx.aliases.byName(draft.alias);
        if (known === null && (await tx.aliases.count()) >= LIMITS.aliases)
          throw problem('alias', `cannot be added: there are ${LIMITS.aliases} already; remove some first`);
        const alias = { ...draft, createdAt: known?.createdAt ?? changeSet.now };
        await tx.aliases.save(alias);
        await audit(tx, changeSet, actor, 'alias.save', draft.alias, { channel: draft.channel });
        return alias;
      });
    },
    remove: (actor, name) => remove(core, actor, name),
  };
}

/** Whoever is told by way of an alias would wait in vain without it. */
async function remove(core: Core, actor: Actor, name: string): Promise<void> {
  await core.flusher.transact(actor, async (tx, changeSet) => {
    const [subscription] = await tx.subscriptions.idsOf(name);
    if (subscription !== undefined)
      throw new SpineError('conflict', {
        id: name,
        problem: `The subscription ${subscription} goes to it; remove that first.`,
      });
    if (!(await tx.aliases.remove(name))) throw new SpineError('not_found', { id: name });
    await audit(tx, changeSet, actor, 'alias.remove', name);
  });
}

/** `fields` says under which names the caller wrote them. */
async function checkPlace(
  core: Core,
  place: Place,
  fields: Readonly<Record<'channel' | 'target', string>>,
): Promise<void> {
  const wrong = placeProblem(place, core.scheduling.gateways);
  if (wrong !== null) throw problem(fields[wrong.of], wrong.problem);
  const why = place.channel === 'webhook' ? await core.webhookProblem(place.target) : null;
  if (why !== null) throw problem(fields.target, why);
}

/** What can be told without the database; the alias itself is looked for in the transaction that saves. */
export async function checkDelivery(
  core: Core,
  spec: Pick<ScheduleSpec, 'deliveryChannel' | 'deliveryTo' | 'probe'>,
): Promise<void> {
  if (spec.probe !== null && isProbeUrl(spec.probe)) {
    const why = await core.webhookProblem(spec.probe);
    if (why !== null) throw problem('probe', why);
  }
  const destination = destinationOf(spec);
  if (destination === null || 'alias' in destination) return;
  await checkPlace(core, destination, { channel: 'delivery_channel', target: 'delivery_to' });
}

export async function checkDeliveryAlias(tx: Tx, spec: ScheduleSpec): Promise<void> {
  const destination = destinationOf(spec);
  if (destination === null || !('alias' in destination)) return;
  await checkAlias(tx, destination.alias, 'delivery_to');
}

export async function checkAlias(tx: Tx, name: string, field: string): Promise<void> {
  if ((await tx.aliases.byName(name)) === null)
    throw problem(
      field,
      `names the alias @${name}, which does not exist; create it with: npx spine alias add`,
    );
}

function problem(field: string, words: string): SpineError {
  return new SpineError('bad_request', { field, problem: `${field} ${words}.` });
}
