/** Who wants to be told of what: events of some jobs, by way of an alias. */

import type { Job } from './job.ts';

export const SUBSCRIBED_EVENTS = [
  'done',
  'failed',
  'dead',
  'cancelled',
  'approval',
  'question',
  'stale',
] as const;
export type SubscribedEvent = (typeof SUBSCRIBED_EVENTS)[number];

/** What is null does not matter; what is given must all be so. */
export interface Subscription {
  readonly no: number;
  readonly id: string;
  readonly alias: string;
  readonly events: readonly SubscribedEvent[];
  readonly typeNo: number | null;
  readonly scheduleId: string | null;
  readonly target: string | null;
  readonly jobNo: number | null;
  readonly createdAt: number;
  readonly createdBy: string;
}

/** Those that are an end. */
export type EndEvent = Exclude<SubscribedEvent, 'approval' | 'question' | 'stale'>;

/** What the end of a job is called here; null for ends that nobody is told of. */
export function endEvent({ state }: Pick<Job, 'state'>): EndEvent | null {
  return state === 'done' || state === 'failed' || state === 'dead' || state === 'cancelled' ? state : null;
}

/** A slot is no job: whoever wants to hear of some jobs only hears nothing of it. */
export function wantsSlot(subscription: Subscription, slot: string): boolean {
  const { typeNo, scheduleId, jobNo, events, target } = subscription;
  const isOfJobs = typeNo !== null || scheduleId !== null || jobNo !== null;
  return events.includes('stale') && !isOfJobs && (target === null || target === slot);
}

export function wants(
  subscription: Subscription,
  event: SubscribedEvent,
  job: Pick<Job, 'no' | 'typeNo' | 'scheduleId' | 'target'>,
): boolean {
  const { events, typeNo, scheduleId, target, jobNo } = subscription;
  return (
    events.includes(event) &&
    (typeNo === null || typeNo === job.typeNo) &&
    (scheduleId === null || scheduleId === job.scheduleId) &&
    (target === null || target === job.target) &&
    (jobNo === null || jobNo === job.no)
  );
}
