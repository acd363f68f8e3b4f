/** Tasks as they are shown, and as one is found by its id. */

import type { Job } from '../../../domain/job.ts';
import { SpineError } from '../../../domain/error.ts';
import { isFullId } from '../../job-id.ts';
import { tellOf } from '../../one-job.ts';
import { noteJob } from '../../requests.ts';
import type { Call } from '../../routes.ts';
import { data } from './routes.ts';
import { isAssigned } from './task-list.ts';
import { around, parentsOf, taskView } from './view.ts';
import { missing } from './words.ts';

/** What taking or moving a task can be refused for. */
export const MOVING = [
  'not_found',
  'conflict',
  'not_ready',
  'paused',
  'pool_full',
  'not_running',
  'terminal_status',
] as const;

const NO_TASK = 'Task not found';
const NOT_YOURS = 'Task not found or not assigned to you';
/** What a task answers to somebody whom it does not belong to. */
const FOREIGN = ['not_found', 'forbidden', 'not_owner', 'already_claimed'];

export async function taskNamed({ engine, actor, request, params: { id = '' } }: Call): Promise<Job> {
  if (!isFullId(id)) throw missing(NO_TASK);
  noteJob(request, id);
  return engine.jobs.get(actor, id).catch((error: unknown) => {
    throw error instanceof SpineError && error.code === 'not_found' ? missing(NO_TASK) : error;
  });
}

/** One that is the caller's: it waits for it, or was taken by it. */
export async function ownTask({ engine, actor, request, params: { id = '' } }: Call): Promise<Job> {
  if (!isFullId(id)) throw missing(NOT_YOURS);
  noteJob(request, id);
  const job = await orNotYours(engine.jobs.get(actor, id));
  if (!isAssigned(job, actor.name)) throw missing(NOT_YOURS);
  return job;
}

/** It may have been somebody's own a moment ago. */
export async function orNotYours<T>(calling: Promise<T>): Promise<T> {
  try {
    return await calling;
  } catch (error) {
    if (error instanceof SpineError && FOREIGN.includes(error.code)) throw missing(NOT_YOURS);
    throw error;
  }
}

/** A task as it is, or as a change has left it. */
interface Showing {
  readonly withSop: boolean;
  /** A commit has to be told of. */
  readonly done: boolean;
  /** Further fields. */
  readonly more?: object;
}

export async function shown(call: Call, job: Job, { withSop, done, more }: Showing): Promise<string> {
  const { engine } = call;
  const about = await around(engine, [job], withSop);
  const moreBytes = withSop ? (about.types.get(job.typeNo)?.sop?.length ?? 0) : 0;
  const told = await tellOf(call, job, { done, moreBytes }, async (details) => {
    const parents = await parentsOf(engine, [details]);
    return JSON.stringify(data({ ...taskView(job, details, { ...about, parents }), ...more }));
  });
  if (told === null) throw missing(NO_TASK);
  return told;
}
