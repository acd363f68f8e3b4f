/** The run: what a job has beside its row when a schedule made it. */

import type { Job } from './job.ts';

export type RunKind = 'cron' | 'catch_up' | 'manual' | 'chain' | 'spawn' | 'retry' | 'replay';

/** What counts for `maxRuns`: by the clock or after a parent. Retries and replays are the same run again. */
export const COUNTED_KINDS: readonly RunKind[] = ['cron', 'catch_up', 'chain'];

/** Whether a run counts for its schedule's overlap: ended, under way (a retry to come included), or waiting in line. */
export const RUN_ENDED = 0;
export const RUN_ACTIVE = 1;
export const RUN_WAITING = 2;
export type RunActivity = typeof RUN_ENDED | typeof RUN_ACTIVE | typeof RUN_WAITING;

/** What a job has beside its row when a schedule made it. */
export interface Run {
  readonly jobNo: number;
  readonly scheduleId: string;
  readonly kind: RunKind;
  readonly dueAt: number | null;
  /** The parent's run whose end started this one. */
  readonly triggeredBy: number | null;
  readonly active: RunActivity;
  /** What its worker wrote down before it began, so that whoever comes after a crash finds the work. */
  readonly sessionKey: string | null;
  readonly transport: string | null;
  readonly dispatchedAt: number | null;
  readonly lastHeartbeat: number | null;
  readonly contextSummary: string | null;
}

/** What the worker of a run writes down; what is left out stays as it was, null takes it back. */
export interface RunNote {
  readonly sessionKey?: string | null;
  readonly transport?: string | null;
  readonly dispatchedAt?: number | null;
  readonly lastHeartbeat?: number | null;
  readonly contextSummary?: string | null;
}

/** A run as people look at it. */
export interface RunRecord {
  readonly job: Job;
  readonly run: Run;
  readonly startedAt: number | null;
  readonly result: string | null;
  readonly error: string | null;
  readonly earlierId: string | null;
  readonly triggeredById: string | null;
}

export interface RunFilter {
  readonly scheduleId?: string;
  readonly states?: readonly Job['state'][];
  readonly causes?: readonly (string | null)[];
  readonly ids?: readonly string[];
  readonly before?: number;
  readonly limit: number;
}

/** A run as far as its schedule goes by it. */
export type PastRun = Pick<Run, 'kind' | 'dueAt'> &
  Pick<Job, 'createdAt' | 'state' | 'cause' | 'finishedAt' | 'settled' | 'retryAt'>;

export interface AdoptableRun {
  readonly id: string;
  readonly leaseToken: string;
  readonly claimId: string | null;
  readonly target: string;
}
