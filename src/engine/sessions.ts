/** Sessions that this installation runs for others: each is a job of its own, which the session worker does. */

import { SYSTEM } from '../domain/actor.ts';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { FINAL_STATES, isFinal, type Job, OPEN_STATES, STATES } from '../domain/job.ts';
import { serves } from '../domain/lease.ts';
import { isSessionOf } from '../domain/worker-slot.ts';
import type { Core } from './core.ts';
import type { Jobs, Sessions } from './engine.ts';

/** Whom session jobs are addressed to, and their type. */
export const SESSION_TARGET = 'sessions';
const SESSION_TYPE = 'session';
/** Of those that have ended, as many as anybody still asks for. */
const ENDED_SHOWN = 200;
const RUNNING_SHOWN = 800;

export function sessionsOf(core: Core, jobs: Pick<Jobs, 'create' | 'list' | 'cancel'>): Sessions {
  const list = (actor: Actor, filter: object, limit: number, states: Job['state'][]): Promise<Job[]> =>
    jobs.list(actor, { states, type: SESSION_TYPE, order: 'newest', limit, ...filter });
  const newest = async (actor: Actor, label: string): Promise<Job | null> =>
    (await list(actor, { tag: label }, 1, [...STATES])).at(0) ?? null;
  const ended = async (actor: Actor, job: Job): Promise<Job> =>
    isFinal(job.state) ? job : (await jobs.cancel(actor, job.id, 'The session was ended.')).job;
  return {
    spawn: async (actor, { label, spec }) => {
      if (!serves(actor, SESSION_TARGET)) throw new SpineError('forbidden', { target: SESSION_TARGET });
      if (!core.workers.sessions) {
        const problem = 'This server runs no sessions: set SPINE_SESSION_RUNNER, or SPINE_SESSION_COMMAND.';
        throw new SpineError('conflict', { problem });
      }
      // A session is begun once: what it left undone when its server died is for its owner to judge.
      const draft = {
        target: SESSION_TARGET,
        type: SESSION_TYPE,
        newType: true,
        title: label,
        uniqueKey: label,
        tags: [label],
        maxAttempts: 1,
        spec,
      };
      const made = await jobs.create(actor, [draft]);
      return made.jobs[0] as Job;
    },
    list: async (actor) => [
      ...(await list(actor, {}, RUNNING_SHOWN, [...OPEN_STATES])),
      ...(await list(actor, {}, ENDED_SHOWN, [...FINAL_STATES])),
    ],
    end: async (actor, label) => {
      const job = await newest(actor, label);
      if (job === null) throw new SpineError('not_found', { id: label });
      if (actor.role !== 'head' && job.createdBy !== actor.name) {
        const message = 'Another worker asked for this session.';
        throw new SpineError('not_owner', { createdBy: job.createdBy }, { message });
      }
      return ended(actor, job);
    },
    endOf: async (slot) => {
      const job = slot.sessionId === null ? null : await newest(SYSTEM, slot.sessionId);
      if (job !== null && isSessionOf(slot, { label: slot.sessionId ?? '', createdBy: job.createdBy }))
        await ended(SYSTEM, job);
    },
  };
}
