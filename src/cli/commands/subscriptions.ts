/** `spine subscriptions …`: who is told of what. */

import type { SubscribedEvent, Subscription } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { table } from '../text/table.ts';
import { jobRef } from './job-ref.ts';
import { scheduleId } from './schedule-ref.ts';
import { given } from './values.ts';

export const listSubscriptions: Handler = async (session) => {
  const subscriptions = await (await session.client()).subscriptions.list();
  session.out.result({
    value: { subscriptions },
    lines: () => {
      if (subscriptions.length > 0) return table(HEADS, subscriptions.map(cells), session.out.columns);
      session.none('No subscriptions. Add one with: npx spine subscriptions add <alias> failed dead');
      return [];
    },
    ids: () => subscriptions.map(({ id }) => id),
  });
};

const HEADS = [{ head: 'subscription' }, { head: 'who' }, { head: 'events' }, { head: 'of', gives: true }];

function cells(subscription: Subscription): string[] {
  const { id, alias, events } = subscription;
  return [id, alias, events.join(', '), scopeOf(subscription)];
}

function scopeOf({ type, schedule_id, target, job_id }: Subscription): string {
  const named = Object.entries({ type, schedule: schedule_id, target, job: job_id });
  const words = named.flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]));
  return words.length === 0 ? 'all jobs' : words.join(', ');
}

interface AddOptions {
  readonly type?: string;
  readonly schedule?: string;
  readonly target?: string;
  readonly job?: string;
}

export const addSubscription: Handler<AddOptions> = async (
  session,
  { args: [alias = '', ...events], options },
) => {
  const client = await session.client();
  const { type, target, schedule, job } = options;
  const added = await client.subscriptions.add({
    alias,
    // The server knows the words, and says which they are.
    events: events as SubscribedEvent[],
    ...given({ type, target }),
    ...(schedule !== undefined && { schedule_id: await scheduleId(client, schedule, session.words) }),
    ...(job !== undefined && { job_id: await jobRef(client, job) }),
  });
  session.out.result({
    value: added,
    lines: () => [`${added.alias} is told of ${added.events.join(', ')}: ${scopeOf(added)} (${added.id}).`],
    ids: () => [added.id],
  });
};

export const removeSubscription: Handler = async (session, { args: [id = ''] }) => {
  await (await session.client()).subscriptions.remove(id);
  session.out.result({ value: { id, removed: true }, lines: () => [`Subscription ${id} is removed.`] });
};
