/** Sessions that this server runs for others. Each is a job, and its output is that job's log. */

import { SpineError } from '../../../domain/error.ts';
import type { Job, Outcome } from '../../../domain/job.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { SESSION_STATUS_OF, type SessionStatus } from '../../../domain/statuses.ts';
import type { SessionFacts } from '../../../engine/engine.ts';
import { inTurn } from '../../one-job.ts';
import { noteJob } from '../../requests.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { pieces } from './pieces.ts';
import {
  EndedSession,
  Session,
  Sessions,
  SessionsQuery,
  type SessionsQueryFields,
  SpawnBody,
} from './schemas.ts';

/** A session is work that hangs below no job, which a worker may not make. */
const HEAD = ['head'] as const;
const USERS = ['head', 'worker'] as const;

export const sessionRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/sessions/spawn',
    name: 'spawnSession',
    about: 'Begin a session under a label of your own; GET /api/sessions tells what becomes of it.',
    who: HEAD,
    body: SpawnBody,
    answer: Session,
    errors: ['forbidden', 'conflict', 'unique_key_taken', 'queue_full'],
    handle: async (call) => {
      const { sessionLabel: label, autoStart, ...spec } = call.body;
      if (autoStart === false) {
        const message = 'autoStart must be true: a session begins when it is asked for.';
        throw new SpineError('bad_request', { field: 'autoStart' }, { message });
      }
      const job = await call.engine.sessions.spawn(call.actor, { label, spec });
      noteJob(call.request, job.id);
      return printed(call, job);
    },
  }),
  route({
    method: 'GET',
    path: '/api/sessions',
    name: 'listSessions',
    about:
      'Sessions that run, and the 200 that ended last, with results of 8 MiB in all; with `label` those that have it, whenever they ended.',
    who: [...USERS, 'viewer'],
    query: SessionsQuery,
    answer: Sessions,
    handle: listed,
  }),
  route({
    method: 'DELETE',
    path: '/api/sessions/:id',
    name: 'endSession',
    about:
      'End a session, and answer when it is over; 409 when it is still at work after 10 s. One that has ended already stays as it is.',
    who: USERS,
    answer: EndedSession,
    errors: ['not_found', 'not_owner', 'conflict'],
    handle: async (call) => {
      const ended = await call.engine.sessions.end(call.actor, call.params['id'] ?? '');
      return `{"ok":true,"session":${await printed(call, ended)}}`;
    },
  }),
];

/** About what a session takes beside what came of it. */
const SESSION_BYTES = 1_024;

/** Every session is in the list: whoever misses one takes it for lost. Only what came of the older ones may be left out. */
async function listed(call: Call<unknown, SessionsQueryFields>): Promise<string> {
  const { engine, actor, parts, reply, query } = call;
  const jobs = await engine.sessions.list(actor, query.label ?? null);
  const facts = await engine.sessions.facts(jobs);
  const sizes = new Map<number, number>();
  let bytes = jobs.length * SESSION_BYTES;
  for (const { no } of jobs) {
    const { outcomeBytes = 0 } = facts.get(no) ?? {};
    if (bytes + outcomeBytes > LIMITS.answerBytes) continue;
    sizes.set(no, outcomeBytes);
    bytes += outcomeBytes;
  }
  if (sizes.size < jobs.length) reply.header('x-truncated', 'true');
  await parts.room.take(call, bytes);
  const texts: string[] = [];
  for (const piece of pieces(jobs, sizes))
    texts.push(
      ...(await parts.longWork.run(actor, async () => {
        const outcomes = await engine.sessions.outcomes(piece.filter(({ no }) => sizes.has(no)));
        return piece.map((job) => JSON.stringify(sessionView(job, facts.get(job.no), outcomes.get(job.no))));
      })),
    );
  return `[${texts.join(',')}]`;
}

function printed(call: Call, job: Job): Promise<string> {
  const { sessions } = call.engine;
  return inTurn(call, job, { done: true }, async () => {
    const [facts, outcomes] = [await sessions.facts([job]), await sessions.outcomes([job])];
    return JSON.stringify(sessionView(job, facts.get(job.no), outcomes.get(job.no)));
  });
}

function sessionView(job: Job, facts: SessionFacts | undefined, outcome: Outcome | undefined) {
  const { label = job.id, model, channel } = facts ?? {};
  const { result = null, error = null } = outcome ?? {};
  const status = SESSION_STATUS_OF[job.state];
  return {
    id: label,
    label,
    sessionKey: label,
    status,
    completed: status === 'completed',
    error: status === 'failed' || status === 'terminated' ? errorOf(status, error) : null,
    ...(model !== undefined && { model }),
    ...(channel !== undefined && { channel }),
    ...(result !== null && { result: JSON.parse(result) as unknown }),
    spawnedAt: job.createdAt,
    lastSeenAt: job.updatedAt,
    jobId: job.id,
  };
}

function errorOf(status: SessionStatus, error: string | null): string {
  const value: unknown = error === null ? null : JSON.parse(error);
  if (typeof value === 'string') return value;
  const message = (value as { message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : `The session was ${status}.`;
}
