/** The calls by which a holder ends its lease: complete, fail, release, snooze, ask. */

import { admit, ADMITTED } from './admit.ts';
import type { Ask, Complete, Decision, Fail, Release, SideWrites, Snooze } from './command.ts';
import type { EventDraft } from './event.ts';
import { isFinal, type Job, NO_OUTCOME, rootOf, type State } from './job.ts';
import { alreadyEndedBy, dropLease, holds, notRunning } from './lease.ts';
import { limitReason, type ProviderLimit } from './provider-limit.ts';
import { endBadly, finish, hasLineage, requeueAfter } from './retry.ts';
import { NOTHING_SENT } from './run.ts';

type Ending = Complete | Fail | Release | Snooze | Ask;

export function decideEnding(job: Job, command: Ending, now: number): Decision {
  if (alreadyEndedBy(job, command.kind, command.leaseToken)) {
    const repeated = { verb: command.kind, state: job.endedState ?? job.state };
    return { job, events: [], answer: { ok: true, job, repeated } };
  }
  if (command.kind === 'snooze' && command.leaseToken === null && mayPostpone(job, command))
    return postpone(job, command, now);
  const hold = holds(job, command.actor, command.leaseToken);
  if (!hold.held) return { job, events: [], answer: hold.refusal };
  const next = { ...job };
  const end = endAs(next, command, now);
  next.endedToken = job.leaseToken;
  next.endedVerb = command.kind;
  next.endedState = next.state;
  const writes = isFinal(next.state) ? end.writes : withoutReport(job, end.writes);
  const kind = isFinal(next.state) ? 'end' : 'other';
  return { ...end, job: next, answer: { ok: true, job: next }, kind, ...(writes && { writes }) };
}

/** What was reported goes with its attempt: it is nobody's word on the next one. Only under `presence` can anything have been. */
function withoutReport({ leasePolicy }: Job, writes: SideWrites | undefined): SideWrites | undefined {
  return leasePolicy === 'presence' ? { ...writes, outcome: NO_OUTCOME } : writes;
}

const DONE = { status: 'done' } as const;

interface End {
  readonly events: EventDraft[];
  readonly writes?: SideWrites;
}

function endAs(next: Job, command: Ending, now: number): End {
  switch (command.kind) {
    case 'complete':
      return complete(next, command, now);
    case 'fail':
      return fail(next, command, now);
    case 'release':
      return release(next, command, now);
    case 'snooze':
      return snooze(next, command, now);
    case 'ask':
      return ask(next, command, now);
  }
}

function complete(next: Job, command: Complete, now: number): End {
  // An error can only be there from an earlier attempt; a first attempt without a result writes nothing.
  const writesOutcome = command.result !== null || next.fence > 1;
  const result = command.keepsResult ? {} : { result: command.result };
  finish(next, 'done', now);
  // Whoever opens it again wants it done anew; after any other end it goes on from where it was.
  next.checkpointAt = null;
  const events: EventDraft[] = [{ kind: 'job.completed', by: command.actor.name, facts: DONE }];
  return writesOutcome ? { events, writes: { outcome: { ...result, error: null } } } : { events };
}

function fail(next: Job, command: Fail, now: number): End {
  if (command.limit !== undefined && command.requeue && !next.cancelRequested)
    return waitForProvider(next, command, command.limit, now);
  const attempt = next.attempts;
  const state = endBadly(next, command.requeue, now, command.cause, command.spread);
  const by = command.actor.name;
  const requeued = !isFinal(state);
  const error: unknown = command.error === null ? null : JSON.parse(command.error);
  const nextTry = state === 'scheduled' ? { runAt: next.runAt } : {};
  const facts = { requeued, attempt, error, state, ...nextTry };
  const events: EventDraft[] = [{ kind: 'job.failed', by, facts }];
  if (state === 'dead')
    events.push({ kind: 'job.dead', by, facts: { reason: 'max_attempts_reached', attempts: attempt } });
  if (state === 'cancelled') events.push({ kind: 'job.cancelled', by });
  const result = command.keepsResult ? {} : { result: null };
  return { events, writes: { outcome: { ...result, error: command.error } } };
}

/** It was no try at the work: the job is held back with all others of its provider, and is as it was before. */
function waitForProvider(
  next: Job,
  { actor, error }: Fail,
  { provider, untilAt }: ProviderLimit,
  now: number,
): End {
  next.reason = limitReason(provider);
  next.attempts -= 1;
  requeueAfter(next, 0, now);
  const facts = {
    reason: next.reason,
    error: error === null ? null : (JSON.parse(error) as unknown),
    ...(untilAt !== null && { limitedUntil: untilAt }),
  };
  return { events: [{ kind: 'job.released', by: actor.name, facts }] };
}

function release(next: Job, command: Release, now: number): End {
  const by = command.actor.name;
  const facts = { reason: command.reason };
  if (next.cancelRequested) {
    // Why it was cancelled is said by whoever cancelled it.
    finish(next, 'cancelled', now);
    return {
      events: [
        { kind: 'job.released', by, facts },
        { kind: 'job.cancelled', by },
      ],
    };
  }
  next.reason = command.reason;
  // A requeued job counts the claim, as v0 does; what is tried again as a job of its own has one attempt, which it keeps.
  if (hasLineage(next) || command.unanswered) next.attempts -= 1;
  requeueAfter(next, 0, now);
  return { events: [{ kind: 'job.released', by, facts }] };
}

function snooze(next: Job, command: Snooze, now: number): End {
  if (next.cancelRequested) {
    finish(next, 'cancelled', now);
    return { events: [{ kind: 'job.cancelled', by: command.actor.name }] };
  }
  // Putting work off is no try at it.
  next.attempts -= 1;
  requeueAfter(next, Math.max(0, command.untilAt - now), now);
  return { events: [{ kind: 'job.snoozed', by: command.actor.name, facts: { runAt: next.runAt } }] };
}

/** The job waits without a holder, a slot or a clock. Asking is no try at it, however often it is done. */
function ask(next: Job, { actor, question, leaseToken }: Ask, now: number): End {
  if (next.cancelRequested) {
    finish(next, 'cancelled', now);
    return { events: [{ kind: 'job.cancelled', by: actor.name }] };
  }
  const { timeoutMs, ...said } = question;
  const expiresAt = now + timeoutMs;
  next.attempts -= 1;
  dropLease(next);
  next.claimedBy = null;
  next.startedAt = null;
  next.state = 'blocked';
  next.question = question.id;
  next.questions += 1;
  next.updatedAt = now;
  const facts = {
    question: said.id,
    to: said.to,
    text: said.text,
    choices: said.choices,
    schema: parsed(said.schema),
    ...(said.fallback !== null && { default: parsed(said.fallback) }),
    expiresAt,
  };
  return {
    events: [{ kind: 'job.asked', by: actor.name, facts }],
    writes: {
      question: {
        ...said,
        jobNo: next.no,
        rootNo: rootOf(next),
        askedBy: actor.name,
        askedAt: now,
        expiresAt,
        leaseToken,
        status: 'open',
        answer: null,
        answeredBy: null,
        answeredAt: null,
      },
      // What was sent has come back with the question: nobody is to look for it.
      ...(next.scheduleId !== null && { note: NOTHING_SENT }),
    },
  };
}

function parsed(json: string | null): unknown {
  return json === null ? null : JSON.parse(json);
}

const WAITING: readonly State[] = ['queued', 'scheduled'];

function mayPostpone(job: Job, command: Snooze): boolean {
  const { role } = command.actor;
  return WAITING.includes(job.state) && (role === 'head' || role === 'system');
}

/** An operator moves a job that nobody holds to another time. One that needs somebody's word waits for that all the same. */
function postpone(job: Job, command: Snooze, now: number): Decision {
  if (!WAITING.includes(job.state)) return { job, events: [], answer: notRunning(job) };
  const by = command.actor.name;
  const next: Job = { ...job, runAt: command.untilAt, updatedAt: now };
  const state = admit(next, now);
  next.state = state;
  const events: EventDraft[] = [{ kind: 'job.snoozed', by, facts: { runAt: next.runAt } }];
  if (state === 'awaiting_approval') events.push({ kind: ADMITTED[state], by, facts: { state } });
  return { job: next, events, answer: { ok: true, job: next } };
}
