/** The bridge: tasks, sessions and heartbeats of workers, in the words of their text. */

import { TASK_STATUS_OF } from '../../../domain/statuses.ts';
import type { Door } from '../../door.ts';
import { nativeErrors } from '../../errors.ts';
import { heartbeatRoutes } from './heartbeats.ts';
import { tokensOrLoopback } from './keys.ts';
import { liveRoutes } from './live.ts';
import { Heartbeat, NewTask, Session, Task, TaskChange } from './schemas.ts';
import { sessionRoutes } from './sessions.ts';
import { taskRoutes } from './tasks.ts';

export const bridge: Door = {
  name: 'bridge',
  prefixes: ['/api/tasks', '/api/sessions', '/api/heartbeats', '/api/live'],
  routes: [...taskRoutes, ...sessionRoutes, ...heartbeatRoutes, ...liveRoutes],
  auth: tokensOrLoopback,
  errors: nativeErrors,
  statusOf: TASK_STATUS_OF,
  tags: [{ name: 'bridge', about: 'Boards and workers that speak of tasks.' }],
  schemas: { Task, NewTask, TaskChange, Session, Heartbeat },
};
