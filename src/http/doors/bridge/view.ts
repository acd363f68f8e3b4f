/** A job as the bridge shows it: a task with its card's status, times in epoch milliseconds. */

import type { JobEvent } from '../../../domain/event.ts';
import type { Job, JobDetails, State } from '../../../domain/job.ts';
import { metaFacts } from '../../../domain/meta.ts';
import { TASK_STATUS_OF, type TaskStatus, taskStatusOf } from '../../../domain/statuses.ts';
import { TASK_SPEC_FIELDS, type TaskSpec, taskSpecOf } from '../../../domain/task.ts';
import { LANE_OF } from './words.ts';

/** Work that is addressed to nobody in particular has no owner. */
const ANYBODY = 'any';

export function taskView(job: Job, { input, error, result }: JobDetails, blockedBy: readonly string[]) {
  const status = taskStatusOf(job);
  const spec = taskSpecOf(input.spec);
  const told = metaFacts(input.meta);
  const asked = TASK_SPEC_FIELDS.flatMap((name) => (spec[name] === undefined ? [] : [[name, spec[name]]]));
  return {
    id: job.id,
    no: job.no,
    title: input.title ?? `#${job.no}`,
    description: input.description ?? '',
    owner: job.target === ANYBODY ? null : job.target,
    status,
    lane: LANE_OF[status],
    priority: job.priority,
    createdAt: job.createdAt,
    updatedAt: job.updatedAt,
    ...(job.timeoutMs !== null && { timeoutMs: job.timeoutMs }),
    ...(job.announce && { announce: true }),
    ...(Object.fromEntries(asked) as TaskSpec),
    blockedBy,
    claimedBy: job.claimedBy,
    attempts: job.attempts,
    ...(result !== null && { result: JSON.parse(result) as unknown }),
    metadata: status === 'blocked' ? { ...told, ...failureOf(job, error, told) } : told,
  };
}

export type TaskView = ReturnType<typeof taskView>;

/** Why a card is blocked, under the names of the text. Whoever said when it failed knows better than we do. */
function failureOf({ finishedAt, reason }: Job, error: string | null, told: Facts): object {
  const value: unknown = error === null ? null : JSON.parse(error);
  const facts = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const errorReason = typeof value === 'string' ? value : (facts['message'] ?? reason ?? 'Blocked.');
  // An error tells of this failure; without one there is only what was said of the card.
  const { sessionId, failedAt = finishedAt } = error === null ? told : facts;
  return { errorReason, failedAt, ...(sessionId !== undefined && { sessionId }) };
}

export interface Move {
  readonly at: number;
  readonly from: TaskStatus | null;
  readonly to: TaskStatus;
  readonly note: string | null;
}

/** The moves of a card, from the job's events. */
export function historyOf(events: readonly JobEvent[]): Move[] {
  const moves: Move[] = [];
  for (const { at, kind, facts } of events) {
    const to = statusAfter(kind, facts ?? {});
    const from = moves.at(-1)?.to ?? null;
    if (to !== null && to !== from) moves.push({ at, from, to, note: noteOf(facts ?? {}) });
  }
  return moves;
}

type Facts = Readonly<Record<string, unknown>>;

const AFTER: Readonly<Partial<Record<JobEvent['kind'], TaskStatus>>> = {
  'job.claimed': 'in-progress',
  'job.completed': 'done',
  'job.released': 'todo',
  'job.snoozed': 'todo',
  'job.queued': 'todo',
  'job.reopened': 'todo',
  'job.approved': 'todo',
  'job.dead': 'blocked',
  'job.cancelled': 'blocked',
  'job.skipped': 'blocked',
  'job.rejected': 'blocked',
  'job.awaiting_approval': 'review',
};

/** Null where the card stays where it is. */
function statusAfter(kind: JobEvent['kind'], facts: Facts): TaskStatus | null {
  if (kind === 'job.edited')
    return facts['review'] === 'pending' ? 'review' : facts['review'] === 'none' ? 'done' : null;
  const state = facts['state'];
  if (typeof state === 'string' && state in TASK_STATUS_OF) return TASK_STATUS_OF[state as State];
  return kind === 'job.created' ? 'todo' : (AFTER[kind] ?? null);
}

function noteOf({ note, reason, error }: Facts): string | null {
  const message = typeof error === 'object' && error !== null ? (error as Facts)['message'] : error;
  const said = [note, reason, message].find((each) => typeof each === 'string');
  return said ?? null;
}
