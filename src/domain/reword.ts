/** What is asked for, said anew: by people who look after the work, not by those who do it. */

import { admit } from './admit.ts';
import type { Decision, Reword, Rewording } from './command.ts';
import { refuse } from './error.ts';
import { REWORDED, type RowRewording } from './job-fields.ts';
import { isFinal, type Job } from './job.ts';
import { LIMITS } from './limits.ts';
import { ownPriority } from './priority.ts';

/** Whom a job waits for can be said anew only while it waits. */
export function reword(job: Job, command: Reword, now: number): Decision {
  const { actor, asked } = command;
  const problem = problemOf(job, command);
  if (problem !== null) return { job, events: [], answer: problem };
  const { runAt, ...rest } = asked;
  const state = runAt === undefined ? job.state : stateAt(job, runAt, now);
  const next: Job = {
    ...job,
    ...rowOf(asked),
    priority: priorityOf(job, asked.priority),
    // Tags may be worth points: they are counted anew.
    scoreAt: asked.tags === undefined || (asked.typeNo ?? job.typeNo) === 0 ? job.scoreAt : now,
    state,
    blockedOn: state === job.state ? job.blockedOn : null,
    updatedAt: now,
  };
  const params = asked.params === undefined ? {} : { params: JSON.parse(asked.params) as unknown };
  const facts = { asked: { ...rest, ...params }, ...(runAt !== undefined && { runAt }) };
  return {
    job: next,
    events: [{ kind: 'job.edited', by: actor.name, facts }],
    answer: { ok: true, job: next },
    writes: { asked },
  };
}

/** What is said anew of the row. */
function rowOf(asked: Rewording): RowRewording {
  return Object.fromEntries(
    REWORDED.flatMap(({ name }) => (asked[name] === undefined ? [] : [[name, asked[name]]])),
  );
}

function problemOf(job: Job, { actor, asked, waiting }: Reword): ReturnType<typeof refuse> | null {
  if (actor.role !== 'head' && actor.role !== 'system')
    return refuse('not_owner', { claimedBy: job.claimedBy });
  const { state, claimedBy, leaseUntil } = job;
  const waits = !isFinal(state) && state !== 'running';
  if (!waits && (waiting || (asked.target ?? job.target) !== job.target))
    return state === 'running'
      ? refuse('conflict', { state, claimedBy, leaseUntil, problem: HELD })
      : refuse('conflict', { state, problem: ENDED });
  if (asked.runAt !== undefined && isTooLate(job, asked.runAt)) return refuse('bad_request', TOO_LATE);
  if (!waiting) return null;
  if (asked.runAt !== undefined && job.question !== null)
    return refuse('conflict', { state, problem: ASKING });
  const agreed = job.approval === 'given' || state === 'awaiting_approval';
  return asked.params !== undefined && agreed ? refuse('conflict', { state, problem: AGREED }) : null;
}

/** As at the creation; one that has begun is no longer ended for it. */
function isTooLate({ startBefore, fence }: Job, runAt: number): boolean {
  return startBefore !== null && startBefore <= runAt && fence === 0;
}

const TOO_LATE = {
  field: 'runAt',
  problem: 'runAt must be before startBefore of the job, or nobody could take it in time.',
};
const HELD =
  'The job is held, and its holder works by what it was given: cancel it, or wait until it is given back.';
const ENDED = 'The job has ended. Open it again with retry, or create another one.';
const ASKING = 'The job waits for an answer, not for a time: answer its question.';
const AGREED =
  'Somebody agrees to these params, or has: cancel the job and create another one with other params.';

/** Whoever has to agree is waited for, whatever time it is. */
function stateAt(job: Job, runAt: number, now: number): Job['state'] {
  return job.state === 'awaiting_approval' ? job.state : admit({ ...job, runAt }, now);
}

/** One that stands in front stays there, and the points of its type are added. */
function priorityOf({ priority, score }: Job, asked: number | undefined): number {
  if (asked === undefined) return priority;
  return Math.min(LIMITS.priority, asked + score) + priority - ownPriority(priority);
}
