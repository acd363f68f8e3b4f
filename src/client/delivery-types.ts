/** Aliases, subscriptions and deliveries as the server shows them. */

export interface Alias {
  readonly alias: string;
  readonly channel: string;
  readonly target: string;
  readonly description: string | null;
  readonly created_at: string;
}

export interface NewAlias {
  readonly alias: string;
  /** telegram, slack, webhook, gateway, log, or a channel of the gateway. */
  readonly channel: string;
  readonly target?: string;
  readonly description?: string | null;
}

export type SubscribedEvent = 'done' | 'failed' | 'dead' | 'cancelled' | 'approval' | 'question';

export interface NewSubscription {
  readonly alias: string;
  readonly events: readonly SubscribedEvent[];
  /** Which jobs; of what is left out, any. */
  readonly type?: string;
  readonly schedule_id?: string;
  readonly target?: string;
  readonly job_id?: string;
}

export interface Subscription {
  readonly id: string;
  readonly alias: string;
  readonly events: readonly SubscribedEvent[];
  readonly type: string | null;
  readonly schedule_id: string | null;
  readonly target: string | null;
  readonly job_id: string | null;
  readonly created_at: string;
  readonly created_by: string;
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

export interface DeliveryFilter {
  readonly run_id?: string;
  readonly status?: DeliveryStatus;
  readonly before?: number;
  readonly limit?: number;
}

export interface Delivery {
  readonly id: string;
  readonly kind: 'result' | 'failure' | 'approval' | 'question' | 'event' | 'gap' | 'chat';
  /** The run or job that it tells of. */
  readonly run_id: string | null;
  /** The schedule. */
  readonly job_id: string | null;
  readonly alias: string | null;
  readonly channel: string;
  readonly target: string;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  /** What the other side answered. */
  readonly proof: Readonly<Record<string, unknown>> | null;
  readonly error: string | null;
  /** Null once it was delivered. */
  readonly text: string | null;
  readonly created_at: string;
  readonly delivered_at: string | null;
}

export interface DeliveryPage {
  readonly deliveries: readonly Delivery[];
  readonly next_before: number | null;
}
