import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobCommand } from '../../src/domain/command.ts';
import { decide } from '../../src/domain/decide.ts';
import { type Job, STATES, type State } from '../../src/domain/job.ts';
import { command, HEAD, HOLDER, jobIn, KINDS, NOW, OUTSIDER, SYSTEM, TOKEN } from './fixtures.ts';

/** `code!` is a refusal; `state: events` is what an accepted command leaves. */
type Outcome = string;
type Row = Readonly<Record<State, Outcome>>;

const same = (outcome: Outcome): Row => Object.fromEntries(STATES.map((state) => [state, outcome])) as Row;
const stays: Row = Object.fromEntries(STATES.map((state) => [state, `${state}:`])) as Row;
const finals = (outcome: Outcome) =>
  ({ done: outcome, failed: outcome, dead: outcome, cancelled: outcome, skipped: outcome }) as const;

/** Every command on a job in every state: by its holder with the token, by head, or by a loop. */
const TABLE: { readonly [K in JobCommand['kind']]: Row } = {
  claim: {
    ...same('not_ready!'),
    queued: 'running: job.claimed',
    running: 'already_claimed!',
    ...finals('terminal_status!'),
  },
  heartbeat: { ...same('lease_lost!'), running: 'running: job.heartbeat' },
  complete: { ...same('lease_lost!'), running: 'done: job.completed' },
  fail: { ...same('lease_lost!'), running: 'queued: job.failed' },
  release: { ...same('lease_lost!'), running: 'queued: job.released' },
  snooze: { ...same('lease_lost!'), running: 'scheduled: job.snoozed' },
  ask: { ...same('lease_lost!'), running: 'blocked: job.asked' },
  checkpoint: { ...same('lease_lost!'), running: 'running: job.checkpoint' },
  log: { ...same('lease_lost!'), running: 'running:' },
  note: { ...same('lease_lost!'), running: 'running:' },
  report: { ...same('lease_lost!'), running: 'running: job.reported' },
  comment: Object.fromEntries(STATES.map((state) => [state, `${state}: job.comment`])) as Row,
  cancel: {
    ...same('cancelled: job.cancelled'),
    running: 'running: job.cancel_requested',
    ...finals('conflict!'),
    cancelled: 'cancelled:',
  },
  retry: { ...same('conflict!'), ...finals('queued: job.reopened') },
  redrive: { ...same('conflict!'), dead: 'queued: job.reopened' },
  edit: Object.fromEntries(STATES.map((state) => [state, `${state}: job.edited`])) as Row,
  reword: Object.fromEntries(STATES.map((state) => [state, `${state}: job.edited`])) as Row,
  // Nothing is due yet: the loops look again at the locked row and leave it alone.
  expire: stays,
  timeout: stays,
  admit: stays,
  lapse: stays,
};

const BY: Partial<Record<JobCommand['kind'], typeof HEAD>> = {
  cancel: HEAD,
  retry: HEAD,
  redrive: HEAD,
  edit: HEAD,
  reword: HEAD,
  expire: SYSTEM,
  timeout: SYSTEM,
  admit: SYSTEM,
  lapse: SYSTEM,
};

for (const kind of KINDS) {
  test(`${kind} has one outcome in every state [SP-29]`, () => {
    for (const state of STATES) {
      const job = jobIn(state);
      const found = outcome(job, command(kind, BY[kind] ?? HOLDER), NOW);
      assert.equal(found, TABLE[kind][state], `${kind} on ${state}`);
    }
  });
}

test('a refusal changes nothing but what it says', () => {
  for (const kind of KINDS) {
    for (const state of STATES) {
      const job = jobIn(state);
      const decision = decide(job, command(kind, BY[kind] ?? HOLDER), NOW);
      if (decision.answer.ok) continue;
      assert.equal(decision.job, job, `${kind} on ${state}`);
      assert.deepEqual(decision.events, []);
      assert.equal(decision.writes, undefined);
    }
  }
});

test('a decision never touches the row it was given', () => {
  for (const kind of KINDS) {
    for (const state of STATES) {
      const job = jobIn(state);
      const before = structuredClone(job);
      decide(job, command(kind, BY[kind] ?? HOLDER), NOW);
      assert.deepEqual(job, before, `${kind} on ${state}`);
    }
  }
});

test('nobody does anything to a job that is addressed to somebody else [SP-16 SP-27]', () => {
  for (const kind of KINDS) {
    for (const state of STATES) {
      assert.equal(outcome(jobIn(state), command(kind, OUTSIDER), NOW), 'forbidden!', `${kind} on ${state}`);
    }
  }
});

test('a loop moves what is due, whatever it believed before it had the lock', () => {
  assert.equal(
    outcome(jobIn('running', { leaseUntil: NOW }), command('expire', SYSTEM), NOW),
    'queued: job.expired',
  );
  assert.equal(
    outcome(jobIn('running', { leaseUntil: NOW + 1 }), command('expire', SYSTEM), NOW),
    'running:',
  );
  const timed = { timeoutMs: 1_000, timeoutAt: NOW };
  assert.equal(outcome(jobIn('running', timed), command('timeout', SYSTEM), NOW), 'queued: job.timeout');
  assert.equal(
    outcome(jobIn('running', { ...timed, timeoutAt: NOW + 1 }), command('timeout', SYSTEM), NOW),
    'running:',
  );
  assert.equal(
    outcome(jobIn('scheduled', { runAt: NOW }), command('admit', SYSTEM), NOW),
    'queued: job.queued',
  );
  assert.equal(
    outcome(jobIn('blocked', { waitingFor: 0 }), command('admit', SYSTEM), NOW),
    'queued: job.queued',
  );
  assert.equal(
    outcome(jobIn('blocked', { waitingFor: 0, runAt: NOW + 1 }), command('admit', SYSTEM), NOW),
    'scheduled: job.scheduled',
  );
  const lapses = (change: Partial<Job>) =>
    outcome(jobIn('queued', { startBefore: NOW, ...change }), command('lapse', SYSTEM), NOW);
  assert.equal(lapses({}), 'skipped: job.skipped');
  assert.equal(lapses({ startBefore: NOW + 1 }), 'queued:');
  assert.equal(lapses({ fence: 1 }), 'queued:', 'somebody has taken it once');
});

test('a claim names its holder, counts the attempt and starts the lease [SP-18 SP-20]', () => {
  const { job, answer, events } = decide(jobIn('queued'), command('claim', HOLDER), NOW);
  assert.equal(answer.ok, true);
  assert.equal(job.claimedBy, HOLDER.name);
  assert.equal(job.attempts, 1);
  assert.equal(job.fence, 1);
  assert.equal(job.leaseUntil, NOW + job.leaseMs);
  assert.deepEqual(events[0]?.facts, { attempt: 1, leaseUntil: job.leaseUntil });
});

test('a claim refused because somebody else runs the job says who and until when', () => {
  const { answer } = decide(jobIn('running'), command('claim', HEAD), NOW);
  assert.deepEqual(answer, {
    ok: false,
    code: 'already_claimed',
    details: { claimedBy: HOLDER.name, leaseUntil: jobIn('running').leaseUntil },
  });
});

test('a claim that repeats its claimId is answered with the lease it already started', () => {
  const running = jobIn('running', { claimId: 'c-1' });
  const again = decide(
    running,
    {
      ...command('claim', HOLDER),
      offer: { token: 'x', leaseMs: null, policy: 'own', claimId: 'c-1' },
    } as JobCommand,
    NOW,
  );
  assert.equal(again.answer.ok && again.answer.job.leaseToken, TOKEN);
  assert.deepEqual(again.events, []);
});

test('a claim starts the timeout, and ending the attempt drops it', () => {
  const held = decide(jobIn('queued', { timeoutMs: 2_000 }), command('claim', HOLDER), NOW).job;
  assert.equal(held.timeoutAt, NOW + 2_000);
  const released = decide(held, command('release', HOLDER, held.leaseToken), NOW).job;
  assert.equal(released.timeoutAt, null);
});

test('a timed-out attempt says so in its error and its event', () => {
  const job = jobIn('running', { timeoutMs: 1_000, timeoutAt: NOW - 5 });
  const decision = decide(job, command('timeout', SYSTEM), NOW);
  assert.deepEqual(decision.writes?.outcome, { result: null, error: '"Timed out after 1000 ms."' });
  assert.equal(decision.events[0]?.facts?.['timeoutMs'], 1_000);
});

test('a completed job carries its result and no error', () => {
  const decision = decide(jobIn('running'), command('complete', HOLDER), NOW);
  assert.deepEqual(decision.writes?.outcome, { result: '{"ok":true}', error: null });
  assert.equal(decision.job.finishedAt, NOW);
});

test('a job that succeeds after an operator gave it new attempts loses its old error', () => {
  const dead = jobIn('dead', { attempts: 5, fence: 5 });
  const open = decide(dead, command('redrive', HEAD), NOW).job;
  const held = decide(open, command('claim', HOLDER), NOW).job;
  const done = decide(
    held,
    { kind: 'complete', id: held.id, actor: HOLDER, leaseToken: held.leaseToken, result: null },
    NOW,
  );
  assert.deepEqual(done.writes?.outcome, { result: null, error: null });
});

test('a job takes a thousand comments and no more, the last fifty of them not from whoever works on it', () => {
  for (const [actor, most] of [
    [HOLDER, 950],
    [HEAD, 1_000],
  ] as const) {
    const comment = command('comment', actor);
    assert.equal(decide(jobIn('running', { comments: most - 1 }), comment, NOW).answer.ok, true);
    const { job, events, writes, answer } = decide(jobIn('running', { comments: most }), comment, NOW);
    assert.deepEqual([job.comments, events, writes], [most, [], undefined]);
    assert.equal(answer.ok ? null : answer.code, 'conflict');
  }
});

test('a comment counts, whatever the state', () => {
  const { job, writes } = decide(jobIn('done', { comments: 2 }), command('comment', HOLDER), NOW);
  assert.equal(job.comments, 3);
  assert.equal(writes?.comment, 'well done');
  assert.equal(job.state, 'done');
});

test('a running job is asked to stop once, and ends as cancelled when its attempt ends badly or is given back', () => {
  const cancel = { kind: 'cancel', id: 'job-1', actor: HEAD } as const;
  const asked = decide(jobIn('running'), command('cancel', HEAD), NOW).job;
  assert.equal(asked.cancelRequested, true);
  assert.deepEqual(decide(asked, command('cancel', HEAD), NOW).events, []);
  assert.equal(outcome(asked, command('fail', HOLDER), NOW), 'cancelled: job.failed job.cancelled');
  assert.equal(outcome(asked, command('release', HOLDER), NOW), 'cancelled: job.released job.cancelled');
  const wanted = decide(jobIn('running'), { ...cancel, reason: 'too expensive' }, NOW).job;
  const given = { ...command('release', HOLDER), reason: 'cancelled' } as JobCommand;
  assert.equal(decide(wanted, given, NOW).job.reason, 'too expensive');
  assert.equal(
    outcome({ ...asked, leaseUntil: NOW }, command('expire', SYSTEM), NOW),
    'cancelled: job.expired job.cancelled',
  );
  assert.equal(
    outcome({ ...asked, timeoutMs: 1, timeoutAt: NOW }, command('timeout', SYSTEM), NOW),
    'cancelled: job.timeout job.cancelled',
  );
  assert.equal(outcome(asked, command('complete', HOLDER), NOW), 'done: job.completed');
});

test('a job whose cancelling was asked for is not put off by a snooze', () => {
  const asked = jobIn('running', { cancelRequested: true });
  assert.equal(decide(asked, command('snooze', HOLDER), NOW).job.state, 'cancelled');
});

test('a retry by an operator reopens with one attempt at least, and redrive with all of them', () => {
  const used = jobIn('dead', { attempts: 5, maxAttempts: 5 });
  const retried = decide(used, command('retry', HEAD), NOW).job;
  assert.deepEqual(
    [retried.attempts, retried.maxAttempts, retried.state, retried.finishedAt],
    [5, 6, 'queued', null],
  );
  const redriven = decide(used, command('redrive', HEAD), NOW).job;
  assert.deepEqual([redriven.attempts, redriven.maxAttempts, redriven.state], [0, 5, 'queued']);
  const young = decide(jobIn('failed', { attempts: 1, maxAttempts: 5 }), command('retry', HEAD), NOW).job;
  assert.deepEqual([young.attempts, young.maxAttempts], [1, 5]);
});

test('a job whose lineage went on is not reopened', () => {
  assert.equal(outcome(jobIn('failed', { retryAt: NOW }), command('retry', HEAD), NOW), 'conflict!');
});

test('a reopened job is asked for nothing any more', () => {
  const { job } = decide(
    jobIn('cancelled', { cancelRequested: true, runAt: NOW + 99_000 }),
    command('retry', HEAD),
    NOW,
  );
  assert.equal(job.cancelRequested, false);
  assert.equal(job.runAt <= NOW, true);
});

test('a reopened job that still waits for a dependency is blocked, not ready', () => {
  assert.equal(
    decide(jobIn('cancelled', { waitingFor: 2 }), command('retry', HEAD), NOW).job.state,
    'blocked',
  );
});

test('head puts off a job that nobody holds, a worker may not', () => {
  const byHead = command('snooze', HEAD, null);
  assert.equal(outcome(jobIn('queued'), byHead, NOW), 'scheduled: job.snoozed');
  assert.equal(outcome(jobIn('scheduled'), byHead, NOW + 99_000), 'queued: job.snoozed');
  assert.equal(outcome(jobIn('blocked'), byHead, NOW), 'not_running!');
  assert.equal(outcome(jobIn('done'), byHead, NOW), 'not_running!');
  assert.equal(outcome(jobIn('queued'), command('snooze', HOLDER, null), NOW), 'not_owner!');
});

test('head brings no job past the word that it waits for, by moving its time', () => {
  const waiting: Job = { ...jobIn('scheduled'), approval: 'needed' };
  const byHead = command('snooze', HEAD, null);
  assert.equal(
    outcome(waiting, byHead, NOW + 99_000),
    'awaiting_approval: job.snoozed job.awaiting_approval',
  );
  assert.equal(outcome({ ...waiting, approval: 'given' }, byHead, NOW + 99_000), 'queued: job.snoozed');
});

test('a snooze into the past makes the job ready at once', () => {
  assert.equal(outcome(jobIn('running'), command('snooze', HOLDER), NOW + 99_000), 'queued: job.snoozed');
});

function outcome(job: Job, given: JobCommand, now: number): Outcome {
  const { answer, job: after, events } = decide(job, given, now);
  if (!answer.ok) return `${answer.code}!`;
  return `${after.state}:${events.map((event) => ` ${event.kind}`).join('')}`;
}
