/** Tasks at the bridge: list, read, make, and move by their status. */

import { SpineError } from '../../../domain/error.ts';
import type { Job } from '../../../domain/job.ts';
import type { TaskStatus } from '../../../domain/statuses.ts';
import { TASK_SPEC_FIELDS } from '../../../domain/task.ts';
import type { JobDraft } from '../../../engine/engine.ts';
import { delivered } from '../../delivery.ts';
import { fullIds, jobId } from '../../job-id.ts';
import { mailField, mailTaken } from '../../mail.ts';
import { noteJob } from '../../requests.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { listTasks, lookAt, shownWhole } from './list.ts';
import {
  NewTask,
  type NewTaskBody,
  Task,
  TaskChange,
  type TaskChangeBody,
  Tasks,
  TasksQuery,
} from './schemas.ts';
import type { TaskView } from './view.ts';
import { either, joined, priorityOf, problem, statusOf } from './words.ts';

const READERS = ['head', 'worker', 'viewer', 'run'] as const;
const MOVERS = ['head', 'worker', 'run'] as const;
/** A worker that dies takes nothing from the task: it is tried again more often than work that fails by itself. */
const MAX_ATTEMPTS = 100;

/** What moving a card can be refused for. */
const MOVING = [
  'not_found',
  'forbidden',
  'not_owner',
  'already_claimed',
  'terminal_status',
  'max_attempts_reached',
  'not_ready',
  'paused',
  'pool_full',
  'missing_capability',
  'not_running',
  'lease_lost',
  'lease_token_required',
  'conflict',
  'unique_key_taken',
] as const;

export const taskRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/tasks',
    name: 'listTasks',
    about:
      'All tasks, the last changed first: up to 1,000 open ones and the 1,000 newest others, 8 MiB in all.',
    who: ['head', 'worker', 'viewer'],
    query: TasksQuery,
    answer: Tasks,
    handle: listTasks,
  }),
  route({
    method: 'GET',
    path: '/api/tasks/:id',
    name: 'getTask',
    about: 'Read a task with the moves of its card.',
    who: READERS,
    answer: Task,
    errors: ['not_found', 'forbidden'],
    handle: async (call) => {
      const job = await call.engine.jobs.get(call.actor, await jobId(call));
      return shownWhole(call, job, { done: false, more: await mailField(call, job) });
    },
  }),
  route({
    method: 'POST',
    path: '/api/tasks',
    name: 'createTask',
    about: 'Make a task. Fields that Spine does not know are kept in its metadata.',
    who: ['head'],
    body: NewTask,
    answer: Task,
    errors: [...MOVING, 'queue_full'],
    handle: async (call) => {
      // The schema leaves further fields as they came.
      const body = call.body as NewTaskBody;
      const change = { status: statusOf(body.status, body.lane), note: body.note ?? null };
      const job = await call.engine.tasks.make(call.actor, await draftOf(call, body), change);
      noteJob(call.request, job.id);
      const answer = (): Promise<string> => shownWhole(call, job, { done: true });
      return job.state === 'running' ? taken(call, job, answer) : answer();
    },
  }),
  ...(['PATCH', 'PUT'] as const).map((method) =>
    route({
      method,
      path: '/api/tasks/:id',
      // What it asks for is in its body: all but the end of what is held counts as soon as that is known.
      load: 'lease',
      name: method === 'PATCH' ? 'changeTask' : 'putTask',
      about: 'Move a task by its status and add to its metadata. To take a task that is taken answers 409.',
      who: MOVERS,
      body: TaskChange,
      answer: Task,
      errors: MOVING,
      handle: changeTask,
    }),
  ),
];

async function changeTask(call: Call): Promise<string> {
  const { engine, actor } = call;
  const body = call.body as TaskChangeBody;
  const job = await engine.jobs.get(actor, await jobId(call));
  const status = statusOf(body.status, body.lane);
  if (!endsHeld(job, status)) countWrite(call);
  await lookAt(call, job, (task) => refuseChanges(body, task));
  const own = metadataOf(body);
  const change = {
    status,
    metadata: Object.keys(own).length === 0 ? null : own,
    note: body.note ?? null,
  };
  const moved = await engine.tasks.change(actor, job, change);
  const answer = async (): Promise<string> =>
    shownWhole(call, moved, { done: true, more: await mailTaken(call, moved) });
  const isTaken = moved.state === 'running' && moved.fence !== job.fence;
  return isTaken ? taken(call, moved, answer) : answer();
}

/** The end of work is never refused for what else its worker does. */
function endsHeld({ state }: Job, status: TaskStatus | null): boolean {
  return state === 'running' && status !== null && status !== 'in-progress';
}

function countWrite({ actor, parts, reply }: Call): void {
  const leave = parts.limits.enter(actor, 'write', 0);
  if (leave instanceof SpineError) throw leave;
  if (leave !== null) reply.raw.once('close', leave);
}

/** Nobody could tell a task that was taken by somebody who never heard of it: it is given back. */
function taken(call: Call, job: Job, answer: () => Promise<string>): Promise<string> {
  return delivered(call, [{ job }], undefined, answer);
}

/** What a client that sends the whole task back may have in it. */
const OUR_OWN = [
  'id',
  'no',
  'createdAt',
  'updatedAt',
  'statusHistory',
  'claimedBy',
  'attempts',
  'result',
] as const;
const MOVED_BY = ['status', 'lane', 'metadata', 'note'] as const;
const SAME_AS = {
  title: 'title',
  description: 'description',
  problem: 'description',
  owner: 'owner',
  assignee: 'owner',
  priority: 'priority',
  blockedBy: 'blockedBy',
  scope: 'instructions',
  acceptanceCriteria: 'deliverables',
  announce: 'announce',
  ...Object.fromEntries(TASK_SPEC_FIELDS.map((name) => [name, name])),
} as const satisfies Readonly<Record<string, string>>;
const KNOWN = new Set<string>([...OUR_OWN, ...MOVED_BY, ...Object.keys(SAME_AS)]);

/** What was asked for stands; a client may send it back as it is. */
function refuseChanges(body: TaskChangeBody, task: TaskView): void {
  const seen = task as Readonly<Record<string, unknown>>;
  for (const [name, ours] of Object.entries(SAME_AS)) {
    if (body[name] === undefined || JSON.stringify(said(name, body[name])) === JSON.stringify(seen[ours]))
      continue;
    throw problem(name, 'cannot be changed once the task is made; make another one');
  }
}

function said(name: string, value: unknown): unknown {
  if (name === 'priority') return priorityOf(value as number | string);
  const isText = name !== 'steps' && name !== 'blockedBy' && Array.isArray(value);
  return isText ? joined(value as string[]) : value;
}

function metadataOf(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const unknown = Object.entries(body).filter(([name]) => !KNOWN.has(name));
  return { ...Object.fromEntries(unknown), ...(body['metadata'] as object | undefined) };
}

async function draftOf(call: Call, body: NewTaskBody): Promise<JobDraft> {
  if (body['id'] !== undefined) throw problem('id', 'is given by the server; leave it out');
  const owner = either(['owner', 'assignee'], body.owner, body.assignee);
  const description = either(['description', 'problem'], body.description, body.problem);
  const after = await parentsOf(call, body.blockedBy ?? []);
  return {
    title: body.title,
    target: owner ?? 'any',
    maxAttempts: MAX_ATTEMPTS,
    spec: specOf(body),
    meta: metadataOf(body),
    ...(description !== undefined && description !== '' && { description }),
    ...(body.priority !== undefined && { priority: priorityOf(body.priority) }),
    ...(body.announce === true && { announce: true }),
    ...(after.length > 0 && { after }),
  };
}

function specOf(body: NewTaskBody): object {
  const spec = {
    instructions: joined(either(['instructions', 'scope'], body.instructions, body.scope)),
    deliverables: joined(
      either(['deliverables', 'acceptanceCriteria'], body.deliverables, body.acceptanceCriteria),
    ),
    steps: body.steps,
    workingDir: body.workingDir,
    model: body.model,
    thinking: body.thinking,
    channel: body.channel,
    timeoutMs: body.timeoutMs,
  };
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined));
}

async function parentsOf(call: Call, named: readonly string[]): Promise<{ job: string }[]> {
  const ids = await fullIds(call, named);
  const known = await call.engine.bots.existing(ids.filter((id) => typeof id === 'string'));
  return ids.map((id, index) => {
    if (typeof id === 'string' && known.has(id)) return { job: id };
    throw problem('blockedBy', `names ${JSON.stringify(named[index])}, which is no task`);
  });
}
