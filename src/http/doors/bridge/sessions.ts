/** Sessions that this server runs for others. Each is a job, and its output is that job's log. */

import { SpineError } from '../../../domain/error.ts';
import type { Job, JobDetails, State } from '../../../domain/job.ts';
import { type Call, route, type Route } from '../../routes.ts';
import { EndedSession, Session, Sessions, SpawnBody } from './schemas.ts';

const USERS = ['head', 'worker'] as const;

export const sessionRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/sessions/spawn',
    name: 'spawnSession',
    about: 'Begin a session under a label of your own; GET /api/sessions tells what becomes of it.',
    who: USERS,
    body: SpawnBody,
    answer: Session,
    errors: ['forbidden', 'conflict', 'unique_key_taken', 'queue_full'],
    handle: async (call) => {
      const { sessionLabel: label, autoStart, ...spec } = call.body;
      if (autoStart === false) {
        const message = 'autoStart must be true: a session begins when it is asked for.';
        throw new SpineError('bad_request', { field: 'autoStart' }, { message });
      }
      return view(call, await call.engine.sessions.spawn(call.actor, { label, spec }));
    },
  }),
  route({
    method: 'GET',
    path: '/api/sessions',
    name: 'listSessions',
    about: 'Sessions that run, and the newest 200 of those that have ended.',
    who: [...USERS, 'viewer'],
    answer: Sessions,
    handle: async (call) => {
      const jobs = await call.engine.sessions.list(call.actor);
      const details = jobs.length === 0 ? new Map() : await call.engine.jobs.details(jobs);
      return jobs.map((job) => sessionView(job, details.get(job.no) as JobDetails | undefined));
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/sessions/:id',
    name: 'endSession',
    about: 'End a session. One that has ended already stays as it is.',
    who: USERS,
    answer: EndedSession,
    errors: ['not_found', 'not_owner', 'conflict'],
    handle: async (call) => {
      const ended = await call.engine.sessions.end(call.actor, call.params['id'] ?? '');
      return { ok: true, session: await view(call, ended) };
    },
  }),
];

async function view({ engine }: Call, job: Job): Promise<object> {
  return sessionView(job, (await engine.jobs.details([job])).get(job.no));
}

type SessionStatus = 'queued' | 'running' | 'completed' | 'failed' | 'terminated';

const STATUS_OF: Readonly<Record<State, SessionStatus>> = {
  scheduled: 'queued',
  blocked: 'queued',
  awaiting_approval: 'queued',
  queued: 'queued',
  running: 'running',
  done: 'completed',
  failed: 'failed',
  dead: 'failed',
  cancelled: 'terminated',
  skipped: 'terminated',
};

function sessionView(job: Job, details: JobDetails | undefined) {
  const { input, error, result } = details ?? { input: null, error: null, result: null };
  const label = input?.title ?? job.id;
  const status = job.state === 'running' && job.cancelRequested ? 'terminated' : STATUS_OF[job.state];
  const { model, channel } = JSON.parse(input?.spec ?? '{}') as { model?: string; channel?: string };
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
