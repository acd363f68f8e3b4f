/** Who works: users that pull tasks, as admins keep them. */

import { SpineError } from '../../../domain/error.ts';
import type { User } from '../../../domain/user.ts';
import type { BotLoad, Engine } from '../../../engine/engine.ts';
import { iso } from '../../iso.ts';
import { route, type Route } from '../../routes.ts';
import { Type } from '../../typebox.ts';
import { data, Done, done, enveloped } from './routes.ts';
import { BotWorker, NewWorker, WorkerParams } from './schemas.ts';
import { isUuid, missing } from './words.ts';

const ADMINS = ['head'] as const;
const DAY_MS = 86_400_000;

export const workerRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/admin/workers',
    name: 'listBots',
    about:
      'List the workers, newest first: whether each was heard from lately, and what it does. Days are those of UTC.',
    who: ADMINS,
    answer: enveloped(Type.Array(BotWorker)),
    handle: async ({ engine, actor, parts }) => data(await parts.longWork.run(actor, () => workers(engine))),
  }),
  route({
    method: 'POST',
    path: '/api/v1/admin/workers',
    name: 'addBot',
    about: 'Let a worker log in.',
    who: ADMINS,
    body: NewWorker,
    status: 201,
    answer: enveloped(BotWorker),
    errors: ['conflict', 'overloaded'],
    handle: async ({ engine, actor, body }) => {
      const { email, password, full_name: fullName } = body;
      const user = await added(engine.users.add(actor, { email, password, fullName, worker: true }));
      return data(workerView(user, NO_LOAD, false));
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/admin/workers/:id',
    name: 'removeBot',
    about: 'Let a worker work no more, from its next call on. The user stays, and so does its work.',
    who: ADMINS,
    params: WorkerParams,
    answer: Done,
    errors: ['not_found'],
    handle: async ({ engine, actor, params: { id = '' } }) => {
      const user = isUuid(id) ? (await engine.users.list()).find((each) => each.id === id) : undefined;
      if (user?.worker !== true) throw missing('Worker not found');
      await engine.users.change(actor, id, { worker: false });
      return done('Worker removed successfully');
    },
  }),
];

/** The words of the text for an address that somebody has. */
async function added(adding: Promise<User>): Promise<User> {
  try {
    return await adding;
  } catch (error) {
    if (!(error instanceof SpineError) || error.details['field'] !== 'email' || error.code !== 'conflict')
      throw error;
    const problem = 'Failed to create worker. Email may already be in use.';
    throw new SpineError('conflict', { field: 'email', problem });
  }
}

const NO_LOAD: BotLoad = { tasks: 0, completed: 0, current: null };

async function workers(engine: Engine) {
  const now = engine.now();
  const [users, loads] = await Promise.all([
    engine.users.list(),
    engine.bots.loads(Math.floor(now / DAY_MS) * DAY_MS),
  ]);
  const isOnline = ({ lastActivityAt: at }: User): boolean => at !== null && now - at < engine.bots.onlineMs;
  return users
    .filter(({ worker }) => worker)
    .map((user) => workerView(user, loads(user.name), isOnline(user)));
}

function workerView(user: User, load: BotLoad, isOnline: boolean) {
  const { id, email, fullName, lastLoginAt, lastActivityAt, createdAt } = user;
  const { current } = load;
  return {
    id,
    email,
    full_name: fullName,
    last_login_at: lastLoginAt === null ? null : iso(lastLoginAt),
    last_activity_at: lastActivityAt === null ? null : iso(lastActivityAt),
    created_at: iso(createdAt),
    task_count: load.tasks,
    is_online: isOnline,
    current_task:
      current === null
        ? null
        : {
            id: current.id,
            title: current.title,
            started_at: current.startedAt === null ? null : iso(current.startedAt),
          },
    completed_today: load.completed,
  };
}
