/** Aliases, subscriptions and deliveries as their door shows them. */

import type { Actor } from '../../../domain/command.ts';
import type { Engine } from '../../../engine/engine.ts';
import { iso } from '../../iso.ts';

type Alias = Awaited<ReturnType<Engine['aliases']['list']>>[number];
type Subscription = Awaited<ReturnType<Engine['subscriptions']['list']>>[number];
type Delivery = Awaited<ReturnType<Engine['deliveries']['retry']>>;

export function aliasView(actor: Actor, { alias, channel, target, description, createdAt }: Alias): object {
  return {
    alias,
    channel,
    target: shownTarget(actor, channel, target),
    description,
    created_at: iso(createdAt),
  };
}

/** The path of a webhook is often its key. */
function shownTarget({ role }: Actor, channel: string, target: string): string {
  if (role === 'head' || channel !== 'webhook' || !URL.canParse(target)) return target;
  return `${new URL(target).origin}/…`;
}

export function subscriptionView(subscription: Subscription): object {
  const { id, alias, events, type, scheduleId, target, jobId, createdAt, createdBy } = subscription;
  return {
    id,
    alias: `@${alias}`,
    events,
    type,
    schedule_id: scheduleId,
    target,
    job_id: jobId,
    created_at: iso(createdAt),
    created_by: createdBy,
  };
}

export function deliveryView(actor: Actor, delivery: Delivery): object {
  const { id, kind, alias, channel, target, status, attempts, proof, error, text } = delivery;
  return {
    id,
    kind,
    run_id: delivery.jobId,
    job_id: delivery.scheduleId,
    alias: alias === null ? null : `@${alias}`,
    channel,
    target: shownTarget(actor, channel, target),
    status,
    attempts,
    proof: proof === null ? null : (JSON.parse(proof) as object),
    error,
    text,
    created_at: iso(delivery.createdAt),
    delivered_at: delivery.deliveredAt === null ? null : iso(delivery.deliveredAt),
  };
}
