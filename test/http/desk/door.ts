/** A door of a help desk: jobs are tickets, callers have keys, and its errors and words are its own. */

import type { Door } from '../../../src/http/door.ts';
import { deskErrors } from './errors.ts';
import { deskKeys } from './keys.ts';
import { Ticket } from './schemas.ts';
import { ticketRoutes } from './tickets.ts';
import { DESK_STATUS_OF } from './statuses.ts';

const OLD_BASE = '/api/v1';

export const desk: Door = {
  name: 'desk',
  prefixes: ['/desk', `${OLD_BASE}/desk`],
  routes: [
    ...ticketRoutes,
    ...ticketRoutes.map((route) => ({ ...route, path: OLD_BASE + route.path, name: `${route.name}V1` })),
  ],
  auth: deskKeys,
  errors: deskErrors,
  statusOf: DESK_STATUS_OF,
  tags: [{ name: 'desk', about: 'Tickets of the help desk.' }],
  schemas: { Ticket },
  answerHeaders: ['x-desk-counter'],
};
