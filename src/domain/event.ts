/** A job's history, one gap-free sequence per job. Names are v0's where v0 had one. */

export const EVENT_KINDS = [
  'job.created',
  'job.imported',
  'job.claimed',
  'job.heartbeat',
  'job.completed',
  'job.failed',
  'job.released',
  'job.comment',
  'job.expired',
  'job.dead',
  'job.queued',
  'job.blocked',
  'job.scheduled',
  'job.snoozed',
  'job.timeout',
  'job.cancel_requested',
  'job.cancelled',
  'job.skipped',
  'job.reopened',
  'job.retried',
  'job.awaiting_approval',
  'job.approved',
  'job.rejected',
  'job.asked',
  'job.answered',
  'job.checkpoint',
  'job.edited',
  'job.reported',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** What a decision says happened; the sequence number is given when it is written. */
export interface EventDraft {
  readonly kind: EventKind;
  readonly by: string;
  readonly facts?: Readonly<Record<string, unknown>>;
}

export interface JobEvent {
  readonly jobNo: number;
  readonly seq: number;
  readonly at: number;
  readonly kind: EventKind;
  readonly by: string;
  readonly facts: Readonly<Record<string, unknown>> | null;
}

export interface FeedPlace {
  readonly pos: number;
  readonly ordinal: number;
}

export interface FeedEntry extends JobEvent, FeedPlace {}

export interface FeedEvent extends FeedEntry {
  readonly jobId: string;
  readonly target: string;
  readonly traceparent: string | null;
}
