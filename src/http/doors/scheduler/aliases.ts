/** Names for places, and who is told what there. Only head writes them: they decide what leaves the house. */

import { SpineError } from '../../../domain/error.ts';
import type { Actor } from '../../../domain/command.ts';
import { route, type Route } from '../../routes.ts';
import {
  Alias,
  AliasBody,
  Aliases,
  AliasParams,
  AliasRemoved,
  Subscription,
  SubscriptionBody,
  SubscriptionRemoved,
  Subscriptions,
} from './delivery-schemas.ts';
import { aliasView, subscriptionView } from './delivery-view.ts';
import { HEAD, READERS } from './schedules.ts';
import { fullId } from '../../job-id.ts';

export const aliasRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/aliases',
    name: 'listAliases',
    about: 'List the names of places that texts are delivered to.',
    who: READERS,
    answer: Aliases,
    errors: ['forbidden'],
    handle: async ({ engine, actor }) => {
      seesAll(actor);
      return { aliases: (await engine.aliases.list()).map((alias) => aliasView(actor, alias)) };
    },
  }),
  route({
    method: 'POST',
    path: '/aliases',
    name: 'saveAlias',
    about: 'Name a place, or say where the alias of that name leads from now on.',
    who: HEAD,
    body: AliasBody,
    status: 201,
    answer: Alias,
    handle: async ({ engine, actor, body }) => {
      const { channel, target = '', description = null } = body;
      const alias = await engine.aliases.save(actor, {
        alias: bare(body.alias),
        channel,
        target,
        description,
      });
      return aliasView(actor, alias);
    },
  }),
  route({
    method: 'DELETE',
    path: '/aliases/:alias',
    name: 'removeAlias',
    about: 'Remove an alias. What is still on its way there goes on.',
    who: HEAD,
    params: AliasParams,
    answer: AliasRemoved,
    errors: ['not_found', 'conflict'],
    handle: async ({ engine, actor, params }) => {
      const alias = bare(params['alias'] ?? '');
      await engine.aliases.remove(actor, alias);
      return { alias, removed: true };
    },
  }),
  route({
    method: 'GET',
    path: '/subscriptions',
    name: 'listSubscriptions',
    about: 'List who is told of which events.',
    who: READERS,
    answer: Subscriptions,
    errors: ['forbidden'],
    handle: async ({ engine, actor }) => {
      seesAll(actor);
      return { subscriptions: (await engine.subscriptions.list()).map(subscriptionView) };
    },
  }),
  route({
    method: 'POST',
    path: '/subscriptions',
    name: 'addSubscription',
    about: 'Have an alias told of events: of one job, of a type, a schedule or a target, or of all jobs.',
    who: HEAD,
    body: SubscriptionBody,
    status: 201,
    answer: Subscription,
    errors: ['not_found', 'conflict'],
    handle: async ({ engine, actor, body }) => {
      const { alias, events, type, schedule_id, target, job_id } = body;
      const subscription = await engine.subscriptions.add(actor, {
        alias: bare(alias),
        events,
        ...(type !== undefined && { type }),
        ...(target !== undefined && { target }),
        ...(schedule_id !== undefined && { scheduleId: (await engine.schedules.get(actor, schedule_id)).id }),
        ...(job_id !== undefined && { jobId: await fullId(engine, actor, job_id) }),
      });
      return subscriptionView(subscription);
    },
  }),
  route({
    method: 'DELETE',
    path: '/subscriptions/:id',
    name: 'removeSubscription',
    about: 'Tell them no more.',
    who: HEAD,
    answer: SubscriptionRemoved,
    errors: ['not_found'],
    handle: async ({ engine, actor, params }) => {
      const id = params['id'] ?? '';
      await engine.subscriptions.remove(actor, id);
      return { id, removed: true };
    },
  }),
];

/** People write names with @, and the table has them without. */
function bare(alias: string): string {
  return alias.replace(/^@/, '');
}

/** A place belongs to no target, so whoever sees only some targets sees none of them. */
export function seesAll({ targets }: Actor): void {
  if (targets !== null) throw new SpineError('forbidden');
}
