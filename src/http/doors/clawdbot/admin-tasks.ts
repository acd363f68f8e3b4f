/** Tasks as admins handle them. */

import type { Actor } from '../../../domain/command.ts';
import { assigneeOf, UNASSIGNED } from '../../../domain/bot.ts';
import type { Job } from '../../../domain/job.ts';
import type { User } from '../../../domain/user.ts';
import type { Engine, JobDraft } from '../../../engine/engine.ts';
import { isFullId } from '../../job-id.ts';
import { noteJobs } from '../../requests.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { Type } from '../../typebox.ts';
import { Done, done, enveloped } from './routes.ts';
import {
  BotTask,
  NewTask,
  type NewTaskBody,
  TaskChange,
  type TaskChangeBody,
  PageFields,
  TaskParams,
  TasksQuery,
  TaskUpdate,
  UpdateBody,
} from './schemas.ts';
import { listTasks } from './task-list.ts';
import { MOVING, shown, taskNamed } from './tasks.ts';
import { activeType } from './types.ts';
import { addUpdate, listUpdates } from './updates.ts';
import { isUuid, priorityNamed, problem, statusNamed } from './words.ts';

const ADMINS = ['head'] as const;
const ROOT = '/api/v1/admin/workers/tasks';
const CHANGED = { withSop: false, done: true };

export const adminTaskRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: ROOT,
    name: 'listBotTasks',
    about:
      'Tasks of all doors, the more urgent first: all unfinished ones and the 100,000 newest others, in pages of up to 1,000 and 8 MiB.',
    who: ADMINS,
    query: TasksQuery,
    answer: enveloped(Type.Array(BotTask)),
    handle: listTasks,
  }),
  route({
    method: 'POST',
    path: ROOT,
    name: 'addBotTask',
    load: 'job',
    about: 'Make a task: for anybody who pulls it, or for one worker.',
    who: ADMINS,
    body: NewTask,
    status: 201,
    answer: enveloped(BotTask),
    errors: ['queue_full', 'conflict'],
    handle: async (call) => {
      const { engine, actor, body } = call;
      const { jobs } = await engine.jobs.create(actor, [await draftOf(call, body)]);
      noteJobs(call.request, jobs);
      return shown(call, jobs[0] as Job, CHANGED);
    },
  }),
  route({
    method: 'GET',
    path: `${ROOT}/:id`,
    name: 'getBotTask',
    about: 'Read a task.',
    who: ADMINS,
    params: TaskParams,
    answer: enveloped(BotTask),
    errors: ['not_found'],
    handle: async (call) => shown(call, await taskNamed(call), { withSop: false, done: false }),
  }),
  route({
    method: 'PUT',
    path: `${ROOT}/:id`,
    name: 'changeBotTask',
    about: 'Say anew what is asked for, or move a task. What is left out or null stays as it is.',
    who: ADMINS,
    params: TaskParams,
    body: TaskChange,
    answer: enveloped(BotTask),
    errors: MOVING,
    handle: changeTask,
  }),
  route({
    method: 'DELETE',
    path: `${ROOT}/:id`,
    name: 'removeBotTask',
    about: 'Remove a task with its updates, data and files. A retry of it goes on.',
    who: ADMINS,
    params: TaskParams,
    answer: Done,
    errors: ['not_found', 'conflict'],
    handle: async (call) => {
      await call.engine.bots.remove(call.actor, (await taskNamed(call)).id);
      return done('Task deleted successfully');
    },
  }),
  route({
    method: 'GET',
    path: `${ROOT}/:id/updates`,
    name: 'listTaskUpdates',
    about: 'What was said about a task, the oldest first.',
    who: ADMINS,
    params: TaskParams,
    query: PageFields,
    answer: enveloped(Type.Array(TaskUpdate)),
    errors: ['not_found'],
    handle: async (call) => listUpdates(call, await taskNamed(call)),
  }),
  route({
    method: 'POST',
    path: `${ROOT}/:id/updates`,
    name: 'addTaskUpdate',
    about: 'Say something about a task.',
    who: ADMINS,
    params: TaskParams,
    body: UpdateBody,
    status: 201,
    answer: enveloped(TaskUpdate),
    errors: ['not_found', 'conflict'],
    handle: async (call) => addUpdate(call, await taskNamed(call), call.body.content),
  }),
];

async function changeTask(call: Call<TaskChangeBody>): Promise<string> {
  const { engine, actor, body } = call;
  const job = await taskNamed(call);
  const asked = {
    ...(typeof body.title === 'string' && { title: body.title }),
    ...(typeof body.description === 'string' && { description: body.description }),
    ...(said(body.params) && { params: body.params }),
    ...(said(body.priority) && { priority: priorityNamed(body.priority) }),
    ...(typeof body.task_type_id === 'number' && { type: await typeNamed(engine, body.task_type_id) }),
    ...(said(body.assigned_to) && { target: await targetNamed(engine, body.assigned_to) }),
  };
  // The holder stays who it is: naming it again changes nothing.
  if (asked.target !== undefined && asked.target === assigneeOf(job)) delete asked.target;
  if (!said(body.status)) return shown(call, await engine.bots.change(actor, job, asked, null), CHANGED);
  const status = statusNamed(body.status);
  const name = asked.target ?? assigneeOf(job);
  const move = { status, countsRetry: false, bot: name === null ? null : await botNamed(engine, name) };
  return shown(call, await engine.bots.change(actor, job, asked, move), CHANGED);
}

function said<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

async function botNamed(engine: Engine, name: string): Promise<Actor | null> {
  const user = (await engine.users.list()).find((each) => each.name === name);
  return user?.worker === true ? engine.bots.actor(user) : null;
}

async function draftOf(call: Call, body: NewTaskBody): Promise<JobDraft> {
  const { engine } = call;
  const { title, description, priority = 'medium', params } = body;
  const type = body.task_type_id ?? null;
  return {
    title,
    target: await targetNamed(engine, body.assigned_to ?? null),
    priority: priorityNamed(priority ?? 'medium'),
    retry: { mode: 'lineage' },
    announce: true,
    ...(typeof description === 'string' && { description }),
    ...(type !== null && { type: await typeNamed(engine, type) }),
    ...(params !== undefined && params !== null && { params }),
    ...(Array.isArray(body.tags) && { tags: body.tags }),
    ...(await parentOf(call, body.parent_task_id ?? null)),
  };
}

/** For whom it is. */
async function targetNamed(engine: Engine, assignedTo: string | null): Promise<string> {
  return assignedTo === null || assignedTo === '' ? UNASSIGNED : (await workerNamed(engine, assignedTo)).name;
}

async function workerNamed(engine: Engine, id: string): Promise<User> {
  const user = isUuid(id) ? (await engine.users.list()).find((each) => each.id === id) : undefined;
  if (user?.worker === true) return user;
  throw problem('assigned_to', 'assigned_to must be the id of a worker');
}

async function typeNamed(engine: Engine, no: number): Promise<string> {
  const type = await activeType(engine, no);
  if (type === null)
    throw problem('task_type_id', 'task_type_id must be the id of a task type that is in use');
  return type.name;
}

/** A task that continues another one says so, and is one of its own. */
async function parentOf({ engine, actor }: Call, id: string | null): Promise<Pick<JobDraft, 'meta'>> {
  if (id === null || id === '') return {};
  const parent = isFullId(id) ? await engine.jobs.get(actor, id).catch(() => null) : null;
  if (parent === null) throw problem('parent_task_id', 'parent_task_id must be the id of a task');
  return { meta: { parentTaskId: parent.id } };
}
