/** What people do to a job from outside its lease: comment, cancel, retry, redrive, edit. */

import type { Cancel, Comment, Decision, Edit, Redrive, Retry, Reword } from './command.ts';
import { refuse } from './error.ts';
import { isFinal, type Job, NO_OUTCOME } from './job.ts';
import { roomForComments } from './remark.ts';
import { finish, reopen, wasRetried } from './retry.ts';
import { reword } from './reword.ts';

export function decideByOperator(
  job: Job,
  command: Comment | Cancel | Retry | Redrive | Edit | Reword,
  now: number,
): Decision {
  switch (command.kind) {
    case 'comment':
      return comment(job, command, now);
    case 'cancel':
      return cancel(job, command, now);
    case 'retry':
      return retry(job, command, now);
    case 'redrive':
      return redrive(job, command, now);
    case 'edit':
      return edit(job, command, now);
    case 'reword':
      return reword(job, command, now);
  }
}

function comment(job: Job, command: Comment, now: number): Decision {
  const limit = roomForComments(command.actor);
  if (job.comments >= limit) {
    const problem = `A job takes at most ${limit} comments; write the rest to its log.`;
    return { job, events: [], answer: refuse('conflict', { problem, limit }) };
  }
  const next = { ...job, updatedAt: now, comments: job.comments + 1 };
  const facts = { text: command.text };
  return {
    job: next,
    events: [{ kind: 'job.comment', by: command.actor.name, facts }],
    answer: { ok: true, job: next },
    writes: { comment: command.text },
  };
}

/** Running work is asked to stop through its heartbeat; everything else ends at once. */
function cancel(job: Job, command: Cancel, now: number): Decision {
  const by = command.actor.name;
  const facts = { reason: command.reason };
  if (isFinal(job.state)) {
    return job.state === 'cancelled' ? same(job) : refused(job, { state: job.state });
  }
  const next = { ...job, reason: command.reason, updatedAt: now };
  if (job.state === 'running') {
    if (job.cancelRequested) return same(job);
    next.cancelRequested = true;
    return {
      job: next,
      events: [{ kind: 'job.cancel_requested', by, facts }],
      answer: { ok: true, job: next },
    };
  }
  finish(next, 'cancelled', now);
  return { job: next, events: [{ kind: 'job.cancelled', by, facts }], answer: { ok: true, job: next } };
}

/** Reopens an ended job, with one attempt more if none is left. It is done anew: nothing has come of it yet. */
function retry(job: Job, command: Retry, now: number): Decision {
  if (!isFinal(job.state)) return refused(job, { state: job.state });
  if (wasRetried(job))
    return refused(job, { state: job.state, why: 'a retry of this job was created already' });
  const next = { ...job };
  reopen(next, now);
  next.maxAttempts = Math.max(job.maxAttempts, job.attempts + 1);
  const again = reopened(next, command.actor.name, job.state);
  return command.keepsResult ? again : { ...again, writes: { outcome: NO_OUTCOME } };
}

/** Gives a dead job all its attempts again. */
function redrive(job: Job, command: Redrive, now: number): Decision {
  if (job.state !== 'dead') return refused(job, { state: job.state });
  const next = { ...job };
  reopen(next, now);
  next.attempts = 0;
  return { ...reopened(next, command.actor.name, job.state), writes: { outcome: NO_OUTCOME } };
}

/** Whoever holds the job may add to it, and head; a call that was accepted just now has shown that it may. */
function edit(job: Job, command: Edit, now: number): Decision {
  const { actor, metadata, review, note, onlyIf } = command;
  const isOwn = actor.role === 'head' || actor.role === 'system' || job.claimedBy === actor.name;
  if (!isOwn && actor.onlyJob !== job.id && onlyIf === null)
    return { job, events: [], answer: refuse('not_owner', { claimedBy: job.claimedBy }) };
  if (review !== null && job.state !== 'done') return refused(job, { state: job.state });
  const next = { ...job, updatedAt: now, review: review ?? job.review };
  const facts = {
    ...(metadata !== null && { metadata: JSON.parse(metadata) as unknown }),
    ...(review !== null && { review }),
    ...(note !== null && { note }),
  };
  return {
    job: next,
    events: [{ kind: 'job.edited', by: actor.name, facts }],
    answer: { ok: true, job: next },
    ...(metadata !== null && { writes: { metadata } }),
  };
}

function reopened(next: Job, by: string, from: Job['state']): Decision {
  return {
    job: next,
    events: [{ kind: 'job.reopened', by, facts: { from } }],
    answer: { ok: true, job: next },
  };
}

function same(job: Job): Decision {
  return { job, events: [], answer: { ok: true, job } };
}

function refused(job: Job, details: Record<string, unknown>): Decision {
  return { job, events: [], answer: refuse('conflict', details) };
}
