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
  /** SHA-256 of what its agent was sent. */
  readonly promptHash: string | null;
}

/** What the worker of a run writes down; what is left out stays as it was, null takes it back. */
export interface RunNote {
  readonly sessionKey?: string | null;
  readonly transport?: string | null;
  readonly dispatchedAt?: number | null;
  readonly lastHeartbeat?: number | null;
  readonly contextSummary?: string | null;
  readonly promptHash?: string | null;
  /** As it may be shown. It lies apart from the run. */
  readonly prompt?: string | null;
}

/** What an earlier run of a schedule said, in one line. */
export interface PriorRun {
  readonly jobNo: number;
  /** When it began. */
  readonly at: number;
  readonly summary: string;
}

/** What a run said, as it is kept. Empty where it had nothing to tell. */
export interface RunSummary {
  readonly jobNo: number;
  readonly scheduleId: string;
  readonly finishedAt: number;
  readonly summary: string;
}

/** Which earlier runs somebody wants to know of. */
export interface PriorRunsWanted {
  readonly scheduleId: string;
  readonly mode: 'recent' | 'hybrid';
  readonly limit: number;
  /** What is to be done, in words: `hybrid` looks for runs that told of it. */
  readonly about: readonly string[];
}

/** What was begun has come to nothing, or to its end. */
export const NOTHING_SENT: RunNote = {
  sessionKey: null,
  transport: null,
  dispatchedAt: null,
  lastHeartbeat: null,
};

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
