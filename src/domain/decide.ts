/** Decides one command on one row: the row after, what happened, what to answer. Reads no clock and no store. */

import type {
  Checkpoint,
  Claim,
  Decision,
  Expire,
  Heartbeat,
  JobCommand,
  Log,
  Note,
  Report,
  TimeOut,
} from './command.ts';
import { missingCapabilities } from './capabilities.ts';
import { decideByOperator } from './decide-operator.ts';
import { decideEnding } from './decide-ending.ts';
import { hasLapsed, lapse } from './lapse.ts';
import { admit, ADMITTED } from './admit.ts';
import { refuse } from './error.ts';
import type { EventDraft } from './event.ts';
import { isFinal, type Job } from './job.ts';
import { holds, isLastLease, mayTouch, renewLease, setLease, startLease } from './lease.ts';
import { remark } from './remark.ts';
import { endBadly, finish, requeueAfter } from './retry.ts';

/** Why an attempt failed whose holder was not heard from. */
const OFFLINE = 'Worker went offline during execution.';

export function decide(job: Job, command: JobCommand, now: number): Decision {
  if (!mayTouch(command.actor, job)) return unchanged(job, refuse('forbidden', { target: job.target }));
  switch (command.kind) {
    case 'claim':
      return claim(job, command, now);
    case 'heartbeat':
      return heartbeat(job, command, now);
    case 'report':
      return report(job, command, now);
    case 'log':
      return log(job, command);
    case 'note':
      return note(job, command);
    case 'checkpoint':
      return checkpoint(job, command, now);
    case 'complete':
    case 'fail':
    case 'release':
    case 'snooze':
    case 'ask':
      return decideEnding(job, command, now);
    case 'comment':
    case 'cancel':
    case 'retry':
    case 'redrive':
    case 'edit':
    case 'reword':
      return decideByOperator(job, command, now);
    case 'expire':
      return expire(job, command, now);
    case 'timeout':
      return timeOut(job, command, now);
    case 'lapse': {
      if (!hasLapsed(job, now)) return unchanged(job);
      const ended = lapse(job, command.actor.name, now);
      return { ...ended, answer: { ok: true, job: ended.job } };
    }
    case 'admit': {
      if (job.state !== 'scheduled' && job.state !== 'blocked') return unchanged(job);
      // Looked at while it was due; it has been claimed since, and has asked.
      if (job.question !== null) return unchanged(job);
      return letIn(job, command.actor.name, now);
    }
  }
}

/** The command changes nothing: accepted as it stands, or refused. */
function unchanged(job: Job, refusal?: ReturnType<typeof refuse>): Decision {
  return { job, events: [], answer: refusal ?? { ok: true, job } };
}

function claim(job: Job, command: Claim, now: number): Decision {
  const { actor, offer } = command;
  if (job.state === 'running') {
    const mine = offer.claimId !== null && job.claimId === offer.claimId && job.claimedBy === actor.name;
    if (mine) return unchanged(job);
    return unchanged(
      job,
      refuse('already_claimed', { claimedBy: job.claimedBy, leaseUntil: job.leaseUntil }),
    );
  }
  if (isFinal(job.state)) return unchanged(job, refuse('terminal_status', { state: job.state }));
  // The timers come a moment later.
  if (hasLapsed(job, now)) return tooLate(job, actor.name, now);
  if (job.state !== 'queued')
    return unchanged(job, refuse('not_ready', { state: job.state, runAt: job.runAt }));
  const missing = missingCapabilities(job, offer.capabilities);
  if (missing.length > 0) return unchanged(job, refuse('missing_capability', { missing }));
  if (job.attempts >= job.maxAttempts) return overTheLimit(job, actor.name, now);
  const next = startLease(job, actor, offer, now);
  const facts = { attempt: next.attempts, leaseUntil: next.leaseUntil };
  return {
    job: next,
    events: [{ kind: 'job.claimed', by: actor.name, facts }],
    answer: { ok: true, job: next },
    kind: 'claim',
  };
}

function tooLate(job: Job, by: string, now: number): Decision {
  const ended = lapse(job, by, now);
  return { ...ended, answer: refuse('terminal_status', { state: ended.job.state }) };
}

/** A job whose attempts are used up dies at the next claim, and the claimer is told. */
function overTheLimit(job: Job, by: string, now: number): Decision {
  const next = { ...job };
  finish(next, 'dead', now);
  const limits = { attempts: job.attempts, maxAttempts: job.maxAttempts };
  return {
    job: next,
    events: [{ kind: 'job.dead', by, facts: { reason: 'max_attempts_reached', ...limits } }],
    answer: refuse('max_attempts_reached', limits),
  };
}

function heartbeat(job: Job, command: Heartbeat, now: number): Decision {
  const hold = holds(job, command.actor, command.leaseToken);
  if (!hold.held) return unchanged(job, hold.refusal);
  const next = { ...job, updatedAt: now, tokenUsed: job.tokenUsed || hold.withToken };
  if (command.spanMs === undefined) renewLease(next, now, command.leaseMs);
  else setLease(next, now, command.spanMs);
  if (command.progress !== null) next.progress = command.progress;
  const event: EventDraft = {
    kind: 'job.heartbeat',
    by: command.actor.name,
    facts: {
      leaseUntil: next.leaseUntil,
      ...(command.progress !== null && { progress: JSON.parse(command.progress) as unknown }),
    },
  };
  return { job: next, events: [event], answer: { ok: true, job: next } };
}

function report(job: Job, command: Report, now: number): Decision {
  const hold = holds(job, command.actor, command.leaseToken);
  if (!hold.held) return unchanged(job, hold.refusal);
  const next = { ...job, updatedAt: now };
  return {
    job: next,
    events: [{ kind: 'job.reported', by: command.actor.name }],
    answer: { ok: true, job: next },
    writes: { outcome: { result: command.result, error: null } },
  };
}

function log(job: Job, command: Log): Decision {
  const hold = holds(job, command.actor, command.leaseToken);
  // Whoever held the job when it ended may still write down what was printed.
  const held = hold.held || (isFinal(job.state) && isLastLease(job, command.leaseToken));
  if (!held) return unchanged(job, hold.refusal);
  return { job, events: [], answer: { ok: true, job }, writes: { logs: command.lines } };
}

function note(job: Job, command: Note): Decision {
  const hold = holds(job, command.actor, command.leaseToken);
  if (!hold.held) return unchanged(job, hold.refusal);
  return { job, events: [], answer: { ok: true, job }, writes: { note: command.note } };
}

function checkpoint(job: Job, command: Checkpoint, now: number): Decision {
  const hold = holds(job, command.actor, command.leaseToken);
  if (!hold.held) return unchanged(job, hold.refusal);
  const next: Job = {
    ...job,
    updatedAt: now,
    checkpointAt: now,
    tokenUsed: job.tokenUsed || hold.withToken,
  };
  const facts = { chars: command.value.length };
  return {
    job: next,
    events: [{ kind: 'job.checkpoint', by: command.actor.name, facts }],
    answer: { ok: true, job: next },
    writes: { checkpoint: command.value },
  };
}

function expire(job: Job, command: Expire, now: number): Decision {
  if (job.state !== 'running' || job.leaseUntil === null) return unchanged(job);
  if (command.leaseToken !== undefined && command.leaseToken !== job.leaseToken) return unchanged(job);
  if (job.leaseUntil > now && !command.orphaned) return unchanged(job);
  if (job.leasePolicy === 'adopt') return handOver(job, command, now);
  if (job.leasePolicy === 'presence' && !command.orphaned) return goneOffline(job, command, now);
  const next = { ...job };
  // A run whose holder was lost has crashed: its schedule's guarantee says whether it is done again, not its retries.
  const state = endBadly(next, true, now, job.scheduleId === null ? null : 'crashed');
  const facts = { claimedBy: job.claimedBy, leaseUntil: job.leaseUntil, attempts: job.attempts, state };
  const events: EventDraft[] = [{ kind: 'job.expired', by: command.actor.name, facts }];
  if (state === 'dead')
    events.push({
      kind: 'job.dead',
      by: command.actor.name,
      facts: { reason: 'lease_expired_max_attempts', attempts: job.attempts },
    });
  if (state === 'cancelled') events.push({ kind: 'job.cancelled', by: command.actor.name });
  const error = JSON.stringify('The lease expired: the worker was not heard from in time.');
  return { job: next, events, answer: { ok: true, job: next }, writes: { outcome: { result: null, error } } };
}

/** The work may go on without its holder: the next claimer finds it in the queue, with its attempt, and looks after it. */
function handOver(job: Job, command: Expire, now: number): Decision {
  const next = { ...job, attempts: job.attempts - 1 };
  const state = requeueAfter(next, 0, now);
  const facts = { claimedBy: job.claimedBy, leaseUntil: job.leaseUntil, attempts: next.attempts, state };
  const events: EventDraft[] = [{ kind: 'job.expired', by: command.actor.name, facts }];
  return { job: next, events, answer: { ok: true, job: next } };
}

/** Only whoever has looked for its holder may say that it is gone. What happened is written down where people look. */
function goneOffline(job: Job, { actor, absent }: Expire, now: number): Decision {
  if (absent === undefined) return unchanged(job);
  const next = { ...job };
  const state = endBadly(next, true, now, 'stale');
  const by = actor.name;
  const facts = { claimedBy: job.claimedBy, leaseUntil: job.leaseUntil, attempts: job.attempts, state };
  const events: EventDraft[] = [{ kind: 'job.expired', by, facts }];
  if (state === 'dead')
    events.push({ kind: 'job.dead', by, facts: { reason: 'worker_offline', attempts: job.attempts } });
  if (state === 'cancelled') events.push({ kind: 'job.cancelled', by });
  const error = JSON.stringify(OFFLINE);
  const text = `Worker ${absent.worker} went offline. Task marked as failed for retry.`;
  const told = remark(next, by, text);
  return {
    job: next,
    events: [...events, ...told.events],
    answer: { ok: true, job: next },
    writes: { outcome: { result: null, error }, ...told.writes },
  };
}

function timeOut(job: Job, command: TimeOut, now: number): Decision {
  if (job.state !== 'running' || job.timeoutAt === null || job.timeoutAt > now) return unchanged(job);
  const next = { ...job };
  const state = endBadly(next, true, now, 'timeout');
  const timeoutMs = job.timeoutMs ?? job.leaseSpanMs;
  const facts = { claimedBy: job.claimedBy, timeoutMs, attempts: job.attempts, state };
  const events: EventDraft[] = [{ kind: 'job.timeout', by: command.actor.name, facts }];
  if (state === 'dead')
    events.push({ kind: 'job.dead', by: command.actor.name, facts: { reason: 'timeout' } });
  if (state === 'cancelled') events.push({ kind: 'job.cancelled', by: command.actor.name });
  const error = JSON.stringify(`Timed out after ${timeoutMs} ms.`);
  return { job: next, events, answer: { ok: true, job: next }, writes: { outcome: { result: null, error } } };
}

function letIn(job: Job, by: string, now: number): Decision {
  const state = admit(job, now);
  if (state === job.state) return unchanged(job);
  const next = { ...job, state, updatedAt: now, blockedOn: null };
  return {
    job: next,
    events: [{ kind: ADMITTED[state], by, facts: { state } }],
    answer: { ok: true, job: next },
  };
}
