/** The door of bots that log in and pull typed tasks, and of the admins who make these. */

import { BOT_DOOR } from '../../../domain/bot.ts';
import { BOT_STATUS_OF } from '../../../domain/statuses.ts';
import type { Door } from '../../door.ts';
import { adminTaskRoutes } from './admin-tasks.ts';
import { authRoutes } from './auth.ts';
import { dataRoutes } from './data.ts';
import { envelopedErrors } from './errors.ts';
import { fileRoutes } from './files.ts';
import { logins } from './keys.ts';
import { withShortPaths } from './routes.ts';
import { BotTask, BotTaskType, BotWorker, TaskUpdate } from './schemas.ts';
import { typeRoutes } from './types.ts';
import { workerRoutes } from './workers.ts';
import { workerTaskRoutes } from './worker-tasks.ts';

export const clawdbot: Door = {
  name: BOT_DOOR,
  prefixes: ['/api/v1/admin/workers', '/api/v1/worker', '/api/v1/auth', '/admin/workers', '/worker', '/auth'],
  routes: withShortPaths([
    ...authRoutes,
    ...workerRoutes,
    ...typeRoutes,
    ...adminTaskRoutes,
    ...workerTaskRoutes,
    ...dataRoutes,
    ...fileRoutes,
  ]),
  auth: logins,
  errors: envelopedErrors,
  statusOf: BOT_STATUS_OF,
  tags: [{ name: 'bots', about: 'Bots that log in and pull typed tasks.' }],
  schemas: { BotWorker, BotTaskType, BotTask, TaskUpdate },
};
