/** Sessions that this installation runs for others: each is a job of its own, which the session worker does. */

import { SYSTEM } from '../domain/actor.ts';
import type { Actor } from '../domain/command.ts';
import { SpineError } from '../domain/error.ts';
import { FINAL_STATES, isFinal, type Job, OPEN_STATES, STATES } from '../domain/job.ts';
import { serves } from '../domain/lease.ts';
import { metaFacts } from '../domain/meta.ts';
import { isSessionOf } from '../domain/worker-slot.ts';
import type { Core } from './core.ts';
import type { Jobs, Sessions } from './engine.ts';

/** Whom session jobs are addressed to, and their type. */
export const SESSION_TARGET = 'sessions';
const SESSION_TYPE = 'session';
/** Of those that have ended, as many as anybody still asks for: the last ones, among those that were begun last. */
const ENDED_SHOWN = 200;
const ENDED_LOOKED_AT = 1_000;
/** Whoever misses a session in the list takes it for lost: more than are shown are never begun. */
const OPEN_SESSIONS = 800;
const OPEN_SHOWN = 1_000;
/** Longer than a session that is told to end takes to: whoever asked for its end may begin another one after it. */
const ENDING_MS = 10_000;

export function sessionsOf(core: Core, jobs: Pick<Jobs, 'create' | 'list' | 'cancel' | 'wait'>): Sessions {
  const list = (actor: Actor, filter: object, limit: number, states: Job['state'][]): Promise<Job[]> =>
    jobs.list(actor, { states, type: SESSION_TYPE, order: 'newest', limit, ...filter });
  const newest = async (actor: Actor, label: string): Promise<Job | null> =>
    (await list(actor, { tag: label }, 1, [...STATES])).at(0) ?? null;
  const ended = async (actor: Actor, job: Job): Promise<Job> => {
    if (isFinal(job.state)) return job;
    const asked = (await jobs.cancel(actor, job.id, 'The session was ended.')).job;
    // Its program ends before its job does.
    const now = isFinal(asked.state) ? asked : (await jobs.wait(SYSTEM, job.id, ENDING_MS)).job;
    if (isFinal(now.state)) return now;
    const problem = `The session was told to end, and is still at work ${ENDING_MS / 1_000} s later: ask again.`;
    throw new SpineError('conflict', { problem });
  };
  return {
    spawn: async (actor, { label, spec }) => {
      if (!serves(actor, SESSION_TARGET)) throw new SpineError('forbidden', { target: SESSION_TARGET });
      if (!core.workers.sessions) {
        const problem = 'This server runs no sessions: set SPINE_SESSION_RUNNER, or SPINE_SESSION_COMMAND.';
        throw new SpineError('conflict', { problem });
      }
      if ((await list(SYSTEM, {}, OPEN_SESSIONS, [...OPEN_STATES])).length === OPEN_SESSIONS)
        throw new SpineError('queue_full', { limit: OPEN_SESSIONS, retryAfterS: 5 });
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
        // A list shows these without reading the prompts.
        meta: { model: spec['model'], channel: spec['channel'] },
      };
      const made = await jobs.create(actor, [draft]);
      return made.jobs[0] as Job;
    },
    list: async (actor, label) => {
      if (label !== null) return list(actor, { tag: label }, OPEN_SHOWN, [...STATES]);
      const open = await list(actor, {}, OPEN_SHOWN, [...OPEN_STATES]);
      const over = await list(actor, {}, ENDED_LOOKED_AT, [...FINAL_STATES]);
      // One that ran for long was begun before many that have ended earlier.
      const last = over.toSorted((a, b) => (b.finishedAt ?? 0) - (a.finishedAt ?? 0) || b.no - a.no);
      return [...open, ...last.slice(0, ENDED_SHOWN)];
    },
    facts: async (sessions) => {
      const nos = sessions.map(({ no }) => no);
      const { details } = core.store.read;
      const [over, sizes] = [await details.headings(nos), await details.outcomeSizes(nos)];
      return new Map(
        sessions.map(({ no, id }) => {
          const { title, meta } = over.get(no) ?? { title: null, meta: null };
          const { model, channel } = metaFacts(meta);
          return [no, { label: title ?? id, model, channel, outcomeBytes: sizes.get(no) ?? 0 }];
        }),
      );
    },
    outcomes: async (sessions) => core.store.read.details.outcomes(sessions.map(({ no }) => no)),
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
