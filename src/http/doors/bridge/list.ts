/** Tasks as they are shown: one, one with its moves, or all that an answer holds. */

import { SpineError } from '../../../domain/error.ts';
import type { JobEvent } from '../../../domain/event.ts';
import { type Job, STATES } from '../../../domain/job.ts';
import { statesShownAs, TASK_STATUS_OF, type TaskStatus, taskStatusOf } from '../../../domain/statuses.ts';
import { openAndEnded } from '../../job-list.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { tellOf } from '../../one-job.ts';
import type { Call } from '../../routes.ts';
import { pieces } from './pieces.ts';
import type { TasksQueryFields } from './schemas.ts';
import { historyOf, type TaskView, taskView } from './view.ts';
import { either, statusOf } from './words.ts';

/** A card that moved more often, or of which more was said, shows its last moves. */
const EVENTS = 1_000;
const EVENTS_BYTES = LIMITS.answerBytes / 2;
/** What a move takes beside its note. */
const MOVE_BYTES = 100;
/** So much of what happened to a job is read together. */
const EVENTS_AT_ONCE = 50;

/** An array cannot say that it is not all; a header does. */
export async function listTasks(call: Call<unknown, TasksQueryFields>): Promise<string> {
  const { query, reply } = call;
  const status = statusOf(query.status, query.lane);
  const owner = either(['owner', 'assignee'], query.owner, query.assignee);
  const states = status === null ? STATES : statesOf(status);
  const found = await openAndEnded(call, owner === undefined ? {} : { target: owner }, states);
  const wanted = found.jobs.filter((job) => status === null || taskStatusOf(job) === status);
  // A client that sorts by priority takes what came first, also within a moment.
  const newest = wanted.toSorted((a, b) => b.updatedAt - a.updatedAt || a.no - b.no);
  const texts: string[] = [];
  let bytes = 0;
  // A few at a time, so that a long list holds up nobody else.
  for (const some of pieces(newest, found.sizes)) {
    for (const text of await printed(call, some)) {
      bytes += Buffer.byteLength(text) + 1;
      if (bytes <= LIMITS.answerBytes || texts.length === 0) texts.push(text);
    }
  }
  if (found.truncated || bytes > LIMITS.answerBytes) reply.header('x-truncated', 'true');
  return `[${texts.join(',')}]`;
}

function printed(call: Call, jobs: readonly Job[]): Promise<string[]> {
  return call.parts.longWork.run(call.actor, async () =>
    (await views(call, jobs)).map((task) => JSON.stringify(task)),
  );
}

/** A task that is done may show as being in review. */
function statesOf(status: TaskStatus) {
  const states = statesShownAs(TASK_STATUS_OF, status);
  return status === 'review' ? [...states, 'done' as const] : states;
}

/** Lets a caller look at a task as it is. */
export async function lookAt(call: Call, job: Job, look: (task: TaskView) => void): Promise<void> {
  await told(call, job, { done: false }, look);
}

interface Showing {
  /** A commit has to be told of. */
  readonly done: boolean;
  /** Further fields. */
  readonly more?: object;
}

export async function shownWhole(call: Call, job: Job, { done, more }: Showing): Promise<string> {
  const statusHistory = historyOf(await lastEvents(call, job));
  const moreBytes = statusHistory.reduce((sum, { note }) => sum + MOVE_BYTES + (note?.length ?? 0), 0);
  return told(call, job, { done, moreBytes }, (task) => JSON.stringify({ ...task, statusHistory, ...more }));
}

async function told<T>(
  call: Call,
  job: Job,
  telling: { readonly done: boolean; readonly moreBytes?: number },
  tell: (task: TaskView) => T,
): Promise<T> {
  const blockers = (await call.engine.jobs.blockers([job])).get(job.no) ?? [];
  const found = await tellOf(call, job, telling, (details) => ({
    said: tell(taskView(job, details, blockers)),
  }));
  // Retention may remove a finished job between two reads.
  if (found === null) throw new SpineError('not_found', { id: job.id });
  return found.said;
}

/** From the last one back, a few at a time. */
async function lastEvents({ engine, actor, parts }: Call, { id, seq }: Job): Promise<JobEvent[]> {
  let events: JobEvent[] = [];
  let bytes = 0;
  for (let to = seq; to > 0 && to > seq - EVENTS && bytes < EVENTS_BYTES; to -= EVENTS_AT_ONCE) {
    const from = Math.max(0, to - EVENTS_AT_ONCE);
    const some = await parts.longWork.run(actor, () => engine.jobs.events(actor, id, from, to - from));
    bytes += some.reduce((sum, { facts }) => sum + (facts === null ? 0 : JSON.stringify(facts).length), 0);
    events = [...some, ...events];
  }
  return events;
}

async function views({ engine }: Call, jobs: readonly Job[]): Promise<TaskView[]> {
  if (jobs.length === 0) return [];
  const [details, blockers] = await Promise.all([engine.jobs.details(jobs), engine.jobs.blockers(jobs)]);
  return jobs.flatMap((job) => {
    const known = details.get(job.no);
    return known === undefined ? [] : [taskView(job, known, blockers.get(job.no) ?? [])];
  });
}
