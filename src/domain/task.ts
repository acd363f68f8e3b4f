/** A task: a job as a board of cards shows it, and what it takes to move its card. */

import { isFinal, type Job } from './job.ts';
import type { TaskStatus } from './statuses.ts';

/** What is asked of whoever does the task, beside its title and description. It is the job's spec. */
export interface TaskSpec {
  readonly instructions?: string;
  readonly deliverables?: string;
  readonly steps?: readonly string[];
  readonly workingDir?: string;
  readonly model?: string;
  readonly thinking?: string;
  readonly channel?: string;
  /** How long one session may take. */
  readonly timeoutMs?: number;
}

export const TASK_SPEC_FIELDS = [
  'instructions',
  'deliverables',
  'steps',
  'workingDir',
  'model',
  'thinking',
  'channel',
  'timeoutMs',
] as const satisfies (keyof TaskSpec)[];

/** A job that was made elsewhere may have any spec: a text says what to do. */
export function taskSpecOf(spec: string | null): TaskSpec {
  const value: unknown = spec === null ? {} : JSON.parse(spec);
  if (typeof value === 'string') return value === '' ? {} : { instructions: value };
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

/** One command towards another status; `pending` and `reviewed` say whether somebody still has to look at it. */
export type TaskStep =
  | 'claim'
  | 'complete'
  | 'fail'
  | 'release'
  | 'cancel'
  | 'retry'
  | 'pending'
  | 'reviewed';

/** Steps that only head may take: what others hold, or what has ended. */
export const HEADS_STEPS: readonly TaskStep[] = ['cancel', 'retry', 'reviewed'];

/** What moves a card from where the job stands. Each command looks again: what has changed meanwhile refuses it. */
export function stepsTo(status: TaskStatus, job: Pick<Job, 'state' | 'review'>): readonly TaskStep[] {
  const { state } = job;
  switch (status) {
    case 'todo':
      if (state === 'running') return ['release'];
      return isFinal(state) ? ['retry'] : [];
    case 'in-progress':
      return ['claim'];
    case 'blocked':
      if (state === 'running') return ['fail'];
      if (state === 'done') return ['retry', 'cancel'];
      return isFinal(state) ? [] : ['cancel'];
    case 'review':
      if (state === 'done') return job.review === 'pending' ? [] : ['pending'];
      return [...toDone(job), 'pending'];
    case 'done':
      if (state === 'done') return job.review === 'pending' ? ['reviewed'] : [];
      return toDone(job);
  }
}

function toDone({ state }: Pick<Job, 'state'>): readonly TaskStep[] {
  if (state === 'running') return ['complete'];
  return isFinal(state) ? ['retry', 'claim', 'complete'] : ['claim', 'complete'];
}
