/** The statuses under which jobs are shown outside. They say less than the states, and each kind of reader has its own. */

import type { Job, State } from './job.ts';

/** One status for every state; null where a job of that state is not shown at all. */
export type StatusOf<Status extends string = string> = Readonly<Record<State, Status | null>>;

export const SPINE_STATUSES = ['queued', 'running', 'done', 'failed', 'dead'] as const;
export type SpineStatus = (typeof SPINE_STATUSES)[number];

export const RUN_STATUSES = [
  'pending',
  'awaiting_approval',
  'running',
  'ok',
  'error',
  'timeout',
  'crashed',
  'cancelled',
  'skipped',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const TASK_STATUSES = ['todo', 'in-progress', 'review', 'done', 'blocked'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

export type SessionStatus = 'queued' | 'running' | 'completed' | 'failed' | 'terminated';

export const BOT_STATUSES = ['pending', 'in_progress', 'completed', 'failed'] as const;
export type BotStatus = (typeof BOT_STATUSES)[number];

/** v0's statuses, which its files and its API share. */
export const SPINE_STATUS_OF = {
  scheduled: 'queued',
  blocked: 'queued',
  awaiting_approval: 'queued',
  queued: 'queued',
  running: 'running',
  done: 'done',
  failed: 'failed',
  dead: 'dead',
  cancelled: 'failed',
  skipped: 'dead',
} as const satisfies StatusOf<SpineStatus>;

/** The scheduler's statuses of a run. */
export const RUN_STATUS_OF = {
  scheduled: null,
  blocked: null,
  awaiting_approval: 'awaiting_approval',
  queued: 'pending',
  running: 'running',
  done: 'ok',
  failed: 'error',
  dead: 'error',
  cancelled: 'cancelled',
  skipped: 'skipped',
} as const satisfies StatusOf<RunStatus>;

/** The bridge's statuses of a task. */
export const TASK_STATUS_OF = {
  scheduled: 'todo',
  blocked: 'todo',
  awaiting_approval: 'review',
  queued: 'todo',
  running: 'in-progress',
  done: 'done',
  failed: 'blocked',
  dead: 'blocked',
  cancelled: 'blocked',
  skipped: 'blocked',
} as const satisfies StatusOf<TaskStatus>;

/** The bridge's statuses of a session. */
export const SESSION_STATUS_OF = {
  scheduled: 'queued',
  blocked: 'queued',
  awaiting_approval: 'queued',
  queued: 'queued',
  running: 'running',
  done: 'completed',
  failed: 'failed',
  dead: 'failed',
  cancelled: 'terminated',
  skipped: 'terminated',
} as const satisfies StatusOf<SessionStatus>;

/** How bots that log in see a job. */
export const BOT_STATUS_OF = {
  scheduled: 'pending',
  blocked: 'pending',
  awaiting_approval: 'pending',
  queued: 'pending',
  running: 'in_progress',
  done: 'completed',
  failed: 'failed',
  dead: 'failed',
  cancelled: 'failed',
  skipped: 'failed',
} as const satisfies StatusOf<BotStatus>;

/** How a task looks: one that is done is in review until somebody has looked at it. */
export function taskStatusOf({ state, review }: Pick<Job, 'state' | 'review'>): TaskStatus {
  return state === 'done' && review === 'pending' ? 'review' : TASK_STATUS_OF[state];
}

/** How a run looks, where a failure says what kind it was. */
export function runStatusOf({ state, cause }: Pick<Job, 'state' | 'cause'>): RunStatus {
  const status = RUN_STATUS_OF[state] ?? 'pending';
  if (status !== 'error' || cause === null) return status;
  return cause === 'crashed' ? 'crashed' : 'timeout';
}

/** The states that are shown under one status. */
export function statesShownAs<Status extends string>(statusOf: StatusOf<Status>, status: Status): State[] {
  return (Object.keys(statusOf) as State[]).filter((state) => statusOf[state] === status);
}
