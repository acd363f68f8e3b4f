/** The scheduler's door: schedules, runs, approvals, messages and deliveries, under the names of its text. */

import { RUN_STATUS_OF } from '../../../domain/statuses.ts';
import { bearerTokens } from '../../auth.ts';
import type { Door } from '../../door.ts';
import { nativeErrors } from '../../errors.ts';
import { REPLAYED } from '../../idempotency.ts';
import { NAMED_ANSWERS } from './answers.ts';
import { agentRoutes } from './agents.ts';
import { aliasRoutes } from './aliases.ts';
import { approvalRoutes } from './approvals.ts';
import { deliveryRoutes } from './deliveries.ts';
import { Alias, Delivery, Subscription } from './delivery-schemas.ts';
import { Agent, Message } from './message-schemas.ts';
import { messageRoutes } from './messages.ts';
import { runRoutes } from './runs.ts';
import { keepingRoutes } from './keeping.ts';
import { scheduleRoutes } from './schedules.ts';
import { NewSchedule, ScheduleChange } from './schemas.ts';
import { steeringRoutes } from './steering.ts';

export const scheduler: Door = {
  name: 'scheduler',
  prefixes: [
    '/schedules',
    '/runs',
    '/approvals',
    '/messages',
    '/agents',
    '/aliases',
    '/subscriptions',
    '/deliveries',
  ],
  answerHeaders: [REPLAYED],
  routes: [
    ...scheduleRoutes,
    ...keepingRoutes,
    ...steeringRoutes,
    ...runRoutes,
    ...approvalRoutes,
    ...messageRoutes,
    ...agentRoutes,
    ...aliasRoutes,
    ...deliveryRoutes,
  ],
  auth: bearerTokens,
  errors: nativeErrors,
  statusOf: RUN_STATUS_OF,
  tags: [
    { name: 'approvals', about: "What waits for a person's word.", starts: ['/approvals'] },
    { name: 'messages', about: 'What agents tell each other.', starts: ['/messages', '/agents'] },
    {
      name: 'deliveries',
      about: 'Texts for people elsewhere, and who gets them.',
      starts: ['/aliases', '/subscriptions', '/deliveries'],
    },
    { name: 'schedules', about: 'What makes jobs by itself, and the runs of it.' },
  ],
  schemas: { ...NAMED_ANSWERS, Message, Agent, Alias, Subscription, Delivery, NewSchedule, ScheduleChange },
};
