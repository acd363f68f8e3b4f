/** Tasks as workers do them: pulled one by one, reported on, and ended by a status. */

import type { ClaimedJob } from '../../../domain/command.ts';
import type { Job } from '../../../domain/job.ts';
import { SpineError } from '../../../domain/error.ts';
import { delivered } from '../../delivery.ts';
import { mailField, mailTaken, mailView } from '../../mail.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { Type } from '../../typebox.ts';
import { data, Done, done, enveloped } from './routes.ts';
import {
  BotTask,
  NoBody,
  OwnTasksQuery,
  ResultBody,
  StatusBody,
  TaskOrNull,
  PageFields,
  TaskParams,
  TaskUpdate,
  UpdateBody,
} from './schemas.ts';
import { listOwnTasks } from './task-list.ts';
import { MOVING, orNotYours, ownTask, shown } from './tasks.ts';
import { addUpdate, listUpdates } from './updates.ts';
import { around, parentsOf, taskView } from './view.ts';
import { problem, statusNamed } from './words.ts';

const WORKERS = ['worker'] as const;
const ROOT = '/api/v1/worker';

export const workerTaskRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: `${ROOT}/heartbeat`,
    name: 'botHeartbeat',
    load: 'lease',
    about: 'Say that the worker is there. Every other call says so, too.',
    who: WORKERS,
    body: NoBody,
    answer: Done,
    handle: async () => done('Heartbeat received'),
  }),
  route({
    method: 'POST',
    path: `${ROOT}/tasks/claim`,
    name: 'claimBotTask',
    load: 'job',
    about: 'Take the most urgent task that is nobody’s yet, of those the oldest; null when there is none.',
    who: WORKERS,
    body: NoBody,
    answer: enveloped(TaskOrNull),
    handle: async (call) => (await claim(call)) ?? data(null),
  }),
  route({
    method: 'GET',
    path: `${ROOT}/tasks/next`,
    name: 'nextBotTask',
    load: 'job',
    about: 'The same for older workers: 204 when there is none.',
    who: WORKERS,
    silent: 204,
    answer: enveloped(BotTask),
    handle: async (call) => {
      const task = await claim(call);
      return task ?? call.reply.code(204).send();
    },
  }),
  route({
    method: 'GET',
    path: `${ROOT}/tasks`,
    name: 'listOwnBotTasks',
    about: 'The worker’s own tasks, the more urgent first, with the instructions of their types.',
    who: WORKERS,
    query: OwnTasksQuery,
    answer: enveloped(Type.Array(BotTask)),
    handle: listOwnTasks,
  }),
  route({
    method: 'GET',
    path: `${ROOT}/tasks/:id`,
    name: 'getOwnBotTask',
    about: 'Read a task of one’s own.',
    who: WORKERS,
    params: TaskParams,
    answer: enveloped(BotTask),
    errors: ['not_found'],
    handle: async (call) => {
      const job = await ownTask(call);
      return shown(call, job, { withSop: true, done: false, more: await mailField(call, job) });
    },
  }),
  route({
    method: 'PUT',
    path: `${ROOT}/tasks/:id/status`,
    name: 'moveBotTask',
    load: 'lease',
    about: 'Move a task: pending gives it back, completed and failed end it. What has ended stays ended.',
    who: WORKERS,
    params: TaskParams,
    body: StatusBody,
    answer: enveloped(BotTask),
    errors: MOVING,
    handle: moveTask,
  }),
  route({
    method: 'POST',
    path: `${ROOT}/tasks/:id/result`,
    name: 'reportBotTask',
    about: 'Say what came of a task, before it ends; the last word counts.',
    who: WORKERS,
    params: TaskParams,
    body: ResultBody,
    answer: enveloped(BotTask),
    errors: MOVING,
    handle: async (call) => {
      const { result } = call.body;
      const job = await ownTask(call);
      try {
        const told = await orNotYours(call.engine.bots.report(call.actor, job.id, result));
        return await shown(call, told, { withSop: true, done: true });
      } catch (error) {
        if (!(error instanceof SpineError && error.code === 'not_running')) throw error;
        await keepWhatCameLate(call, job, `result ${JSON.stringify(result)}`);
        throw problem('result', "Can only post results to tasks with status 'in_progress'");
      }
    },
  }),
  route({
    method: 'GET',
    path: `${ROOT}/tasks/:id/updates`,
    name: 'listOwnTaskUpdates',
    about: 'What was said about a task of one’s own, the oldest first.',
    who: WORKERS,
    params: TaskParams,
    query: PageFields,
    answer: enveloped(Type.Array(TaskUpdate)),
    errors: ['not_found'],
    handle: async (call) => listUpdates(call, await ownTask(call)),
  }),
  route({
    method: 'POST',
    path: `${ROOT}/tasks/:id/updates`,
    name: 'addOwnTaskUpdate',
    about: 'Say something about a task of one’s own.',
    who: WORKERS,
    params: TaskParams,
    body: UpdateBody,
    status: 201,
    answer: enveloped(TaskUpdate),
    errors: ['not_found', 'conflict'],
    handle: async (call) => addUpdate(call, await ownTask(call), call.body.content),
  }),
];

async function claim(call: Call): Promise<string | null> {
  const { engine, actor, parts } = call;
  // Nothing is taken while there is no room to hand it out.
  const crowded = parts.room.opened(call);
  if (crowded !== null) await crowded;
  const claimed = await engine.bots.claim(actor);
  if (claimed === null) return null;
  return delivered(call, [claimed], undefined, async () =>
    JSON.stringify(data(await claimedView(call, claimed))),
  );
}

async function claimedView({ engine }: Call, { job, input, messages }: ClaimedJob): Promise<object | null> {
  const isNew = input !== null && job.retryOf === null && job.fence === 1;
  const [about, known] = await Promise.all([
    around(engine, [job], true),
    isNew ? { input } : engine.jobs.details([job]).then((details) => details.get(job.no)),
  ]);
  // An admin may have removed the task since.
  if (known === undefined) return null;
  const parents = await parentsOf(engine, [known]);
  return {
    ...taskView(job, known, { ...about, parents }),
    ...(messages && messages.length > 0 && { messages: messages.map(mailView) }),
  };
}

async function moveTask(call: Call<{ status?: unknown; increment_retry?: boolean | null }>): Promise<string> {
  const { engine, actor, body } = call;
  const status = statusNamed(body.status);
  const job = await ownTask(call);
  const countsRetry = body.increment_retry === true && status !== 'in_progress';
  try {
    const moved = await orNotYours(engine.bots.move(actor, job, { status, countsRetry, bot: actor }));
    return await shown(call, moved, { withSop: true, done: true, more: await mailTaken(call, moved) });
  } catch (error) {
    if (status === 'completed' && error instanceof SpineError && error.code === 'conflict')
      await keepWhatCameLate(call, job, 'status completed');
    throw error;
  }
}

/** A worker that was given up may come back with what it did: nothing of it is to be lost. */
async function keepWhatCameLate({ engine, actor }: Call, { id }: Job, brought: string): Promise<void> {
  const fate = await engine.leases.tooLate(actor, id, brought);
  if (fate === 'not late') return;
  const what =
    fate === 'kept' ? 'is kept as an update of it' : 'is not kept: it takes no more updates of its worker';
  const problem = `This task was failed while nothing was heard of its worker; what came ${what}.`;
  throw new SpineError('conflict', { problem });
}
