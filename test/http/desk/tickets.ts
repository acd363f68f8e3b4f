/** Tickets: write one, look at them, take one. */

import { type Job, STATES } from '../../../src/domain/job.ts';
import { statesShownAs } from '../../../src/domain/statuses.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { jobId } from '../../../src/http/job-id.ts';
import { route, type Route } from '../../../src/http/routes.ts';
import { NewTicket, OneTicket, TakeHeaders, Tickets, TicketsQuery } from './schemas.ts';
import { DESK_STATUS_OF } from './statuses.ts';

const PAGE = 20;

export const ticketRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/desk/tickets',
    name: 'writeTicket',
    about: 'Write a ticket.',
    who: ['head'],
    body: NewTicket,
    status: 201,
    answer: OneTicket,
    errors: ['queue_full'],
    handle: async ({ engine, actor, body }) => {
      const { jobs } = await engine.jobs.create(actor, [{ target: 'desk', title: body.subject }]);
      return { success: true, data: (await shown(engine, jobs))[0] };
    },
  }),
  route({
    method: 'GET',
    path: '/desk/tickets',
    name: 'listTickets',
    about: 'List tickets, oldest first.',
    who: ['head', 'worker'],
    query: TicketsQuery,
    answer: Tickets,
    handle: async ({ engine, actor, query }) => {
      const { status, limit = PAGE } = query;
      const states = status === undefined ? STATES : statesShownAs(DESK_STATUS_OF, status);
      const jobs = await engine.jobs.list(actor, { states, order: 'oldest', limit });
      return { success: true, data: await shown(engine, jobs) };
    },
  }),
  route({
    method: 'POST',
    path: '/desk/tickets/:id/take',
    name: 'takeTicket',
    about: 'Take a ticket.',
    who: ['worker'],
    headers: TakeHeaders,
    answer: OneTicket,
    errors: ['not_found', 'already_claimed', 'terminal_status'],
    handle: async (call) => {
      call.reply.header('x-desk-counter', call.request.headers['x-desk-counter'] ?? 'any');
      const { job } = await call.engine.leases.claim(call.actor, await jobId(call), {});
      return { success: true, data: (await shown(call.engine, [job]))[0] };
    },
  }),
];

async function shown(engine: Engine, jobs: readonly Job[]): Promise<object[]> {
  const details = await engine.jobs.details(jobs);
  return jobs.flatMap((job) => {
    const status = DESK_STATUS_OF[job.state];
    const subject = details.get(job.no)?.input.title ?? '';
    return status === null ? [] : [{ number: job.no, subject, status }];
  });
}
