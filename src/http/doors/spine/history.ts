/** What came to a job over time, oldest first: its events, its comments and its log. */

import type { Static } from 'typebox';
import { AttemptReader } from '../../../domain/attempts.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { eventView } from '../../events/view.ts';
import { jobId } from '../../job-id.ts';
import { type Page, pageOf, type PageReader } from '../../page.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { iso } from '../../iso.ts';
import { Attempts, JobComments, JobEvents, Logs } from './answers.ts';
import { PageQuery } from './schemas.ts';

/** The work itself may read what it wrote. */
const READERS = ['head', 'worker', 'viewer', 'run'] as const;
const ABOUT_ONE = ['not_found', 'forbidden'] as const;
/** What one takes beside what it says. */
const EVENT_BYTES = 150;
const COMMENT_BYTES = 100;
const LINE_BYTES = 100;

export const historyRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/jobs/:id/events',
    name: 'getJobEvents',
    about: 'Read what happened to a job, oldest first.',
    who: READERS,
    query: PageQuery,
    answer: JobEvents,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { items, next } = await pageOfJob(call, {
        itemBytes: LIMITS.errorChars,
        read: (id, from, count) => call.engine.jobs.events(call.actor, id, from, count),
        cursorOf: ({ seq }) => seq,
        bytesOf: ({ facts }) => EVENT_BYTES + (facts === null ? 0 : JSON.stringify(facts).length),
      });
      const { traceparent } = await call.engine.jobs.get(call.actor, await jobId(call));
      return { events: items.map((event) => eventView(event, traceparent)), nextAfter: next };
    },
  }),
  route({
    method: 'GET',
    path: '/jobs/:id/attempts',
    name: 'getAttempts',
    about:
      'Read who had a job, from when to when, how long it waited and ran, and how that ended, oldest first.',
    who: READERS,
    answer: Attempts,
    errors: ABOUT_ONE,
    handle: attempts,
  }),
  route({
    method: 'GET',
    path: '/jobs/:id/comments',
    name: 'getJobComments',
    about: 'Read the comments on a job, oldest first. The job itself shows the newest of them.',
    who: READERS,
    query: PageQuery,
    answer: JobComments,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { items, next } = await pageOfJob(call, {
        itemBytes: LIMITS.commentChars,
        read: (id, from, count) => call.engine.jobs.comments(call.actor, id, from, count),
        cursorOf: ({ seq }) => seq,
        bytesOf: ({ text }) => COMMENT_BYTES + text.length,
      });
      const comments = items.map(({ seq, at, by, text }) => ({ seq, t: iso(at), by, text }));
      return { comments, nextAfter: next };
    },
  }),
  route({
    method: 'GET',
    path: '/jobs/:id/logs',
    name: 'readLogs',
    about: "Read a job's log, oldest line first.",
    who: READERS,
    query: PageQuery,
    answer: Logs,
    errors: ABOUT_ONE,
    handle: async (call) => {
      const { items, next } = await pageOfJob(call, {
        itemBytes: LIMITS.logLineChars,
        read: (id, from, count) => call.engine.jobs.logs(call.actor, id, from, count),
        cursorOf: ({ no }) => no,
        bytesOf: ({ text }) => LINE_BYTES + text.length,
      });
      const logs = items.map(({ no, attempt, at, level, text }) => ({
        no,
        attempt,
        t: iso(at),
        level,
        text,
      }));
      return { logs, nextAfter: next };
    },
  }),
];

/** Events that are read in one go. */
const EVENTS_AT_ONCE = 500;

/** A job may have been heard from for months: of a very long history only the newest part is looked at. */
async function attempts(call: Call): Promise<object> {
  const { engine, actor, parts } = call;
  const { id, seq } = await engine.jobs.get(actor, await jobId(call));
  const reader = new AttemptReader();
  const start = Math.max(0, seq - LIMITS.attemptEvents);
  for (let from = start, more = true; more; ) {
    const after = from;
    const read = () => engine.jobs.events(actor, id, after, EVENTS_AT_ONCE);
    const events = await parts.longWork.run(actor, read);
    for (const event of events) reader.add(event);
    from = events.at(-1)?.seq ?? from;
    more = events.length === EVENTS_AT_ONCE;
  }
  const shown = reader.attempts.slice(-LIMITS.attemptsShown);
  return {
    attempts: shown.map((attempt) => ({
      ...attempt,
      startedAt: iso(attempt.startedAt),
      endedAt: attempt.endedAt === null ? null : iso(attempt.endedAt),
    })),
    ...((start > 0 || shown.length < reader.attempts.length) && { truncated: true }),
  };
}

type HistoryReader<T> = Omit<PageReader<T, number>, 'limit' | 'start' | 'read'> & {
  readonly read: (id: string, from: number, count: number) => Promise<readonly T[]>;
};

async function pageOfJob<T>(
  call: Call<unknown, Static<typeof PageQuery>>,
  { read, ...reader }: HistoryReader<T>,
): Promise<Page<T, number>> {
  const { after = 0, limit = LIMITS.pageJobs } = call.query;
  const id = await jobId(call);
  return pageOf(call, { ...reader, limit, start: after, read: (from, count) => read(id, from, count) });
}
