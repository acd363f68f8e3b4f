/** Tasks as admins handle them. */

import { UNASSIGNED } from '../../../domain/bot.ts';
import type { Job } from '../../../domain/job.ts';
import type { User } from '../../../domain/user.ts';
import type { Engine, JobDraft } from '../../../engine/engine.ts';
import { isFullId } from '../../job-id.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { Type } from '../../typebox.ts';
import { enveloped } from './routes.ts';
import {
  BotTask,
  NewTask,
  type NewTaskBody,
  TaskParams,
  TasksQuery,
  TaskUpdate,
  UpdateBody,
} from './schemas.ts';
import { listTasks } from './task-list.ts';
import { shown, taskNamed } from './tasks.ts';
import { activeType } from './types.ts';
import { addUpdate, listUpdates } from './updates.ts';
import { isUuid, priorityNamed, problem } from './words.ts';

const ADMINS = ['head'] as const;
const ROOT = '/api/v1/admin/workers/tasks';

export const adminTaskRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: ROOT,
    name: 'listBotTasks',
    about:
      'Tasks of all doors, the more urgent first: up to 1,000 unfinished ones and the 1,000 newest others, 8 MiB in all.',
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
      return shown(call, jobs[0] as Job, false);
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
    handle: async (call) => shown(call, await taskNamed(call), false),
  }),
  route({
    method: 'GET',
    path: `${ROOT}/:id/updates`,
    name: 'listTaskUpdates',
    about: 'What was said about a task, the oldest first.',
    who: ADMINS,
    params: TaskParams,
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
