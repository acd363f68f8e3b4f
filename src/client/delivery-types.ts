/** Aliases, subscriptions and deliveries as the server shows them. */

export interface Alias {
  /** A name for a place that texts are delivered to. */
  readonly alias: string;
  /** The way it goes. */
  readonly channel: string;
  /** Who it is for: a worker, a queue, or any. */
  readonly target: string;
  /** More about it. */
  readonly description: string | null;
  /** When it was made. */
  readonly created_at: string;
}

export interface NewAlias {
  /** What it is called. */
  readonly alias: string;
  /** telegram, slack, webhook, gateway, log, or a channel of the gateway. */
  readonly channel: string;
  /** Where on that channel: a chat, an address or a URL. */
  readonly target?: string;
  /** More about it. */
  readonly description?: string | null;
}

export type SubscribedEvent = 'done' | 'failed' | 'dead' | 'cancelled' | 'approval' | 'question' | 'stale';

export interface NewSubscription {
  /** Who is told. */
  readonly alias: string;
  /** Of what, for example failed or dead. */
  readonly events: readonly SubscribedEvent[];
  /** Which jobs; of what is left out, any. */
  readonly type?: string;
  /** Only of this schedule. */
  readonly schedule_id?: string;
  /** Only of jobs of this target. */
  readonly target?: string;
  /** Only of this job. */
  readonly job_id?: string;
}

export interface Subscription {
  /** The id. */
  readonly id: string;
  /** A name for a place that texts are delivered to. */
  readonly alias: string;
  /** What happened, oldest first. */
  readonly events: readonly SubscribedEvent[];
  /** What kind it is. */
  readonly type: string | null;
  /** The id of the schedule. */
  readonly schedule_id: string | null;
  /** Who it is for: a worker, a queue, or any. */
  readonly target: string | null;
  /** The schedule that it is about. */
  readonly job_id: string | null;
  /** When it was made. */
  readonly created_at: string;
  /** Who made it. */
  readonly created_by: string;
}

export type DeliveryKind =
  | 'result'
  | 'failure'
  | 'approval'
  | 'question'
  | 'event'
  | 'gap'
  | 'chat'
  | 'budget'
  | 'digest'
  | 'reply'
  | 'press';
export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

export interface DeliveryFilter {
  /** Only those of this run. */
  readonly run_id?: string;
  /** Only those that stand there. */
  readonly status?: DeliveryStatus;
  /** Only what comes before this: next_before of the last page. */
  readonly before?: number;
  /** How many at most. */
  readonly limit?: number;
}

export interface Delivery {
  /** The id. */
  readonly id: string;
  /** What kind it is. */
  readonly kind: DeliveryKind;
  /** The run or job that it tells of. */
  readonly run_id: string | null;
  /** The schedule. */
  readonly job_id: string | null;
  /** A name for a place that texts are delivered to. */
  readonly alias: string | null;
  /** The way it goes. */
  readonly channel: string;
  /** Who it is for: a worker, a queue, or any. */
  readonly target: string;
  /** Where it stands. */
  readonly status: DeliveryStatus;
  /** How often the job was claimed, or each of those times. */
  readonly attempts: number;
  /** What the other side answered. */
  readonly proof: Readonly<Record<string, unknown>> | null;
  /** What went wrong. */
  readonly error: string | null;
  /** Null once it was delivered. */
  readonly text: string | null;
  /** When it was made. */
  readonly created_at: string;
  /** When it was delivered. */
  readonly delivered_at: string | null;
}

export interface DeliveryPage {
  /** The deliveries. */
  readonly deliveries: readonly Delivery[];
  /** The before of the next page; null when there is none. */
  readonly next_before: number | null;
}
