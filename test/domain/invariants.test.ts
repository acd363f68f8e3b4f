import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Decision, JobCommand } from '../../src/domain/command.ts';
import { decide } from '../../src/domain/decide.ts';
import { isFinal, type Job, OPEN } from '../../src/domain/job.ts';
import { claimBy, command, HEAD, HOLDER, jobIn, KINDS, NOW, STRANGER, SYSTEM } from './fixtures.ts';

/** What one step of a random history does. Tokens are named by age, because they are made on the way. */
interface Step {
  readonly kind: JobCommand['kind'];
  readonly actor: typeof HEAD;
  readonly token: 'current' | 'old' | 'none';
  readonly requeue: boolean;
  readonly waitMs: number;
  readonly leaseMs: number | null;
}

const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom(...KINDS, 'claim', 'claim', 'fail', 'expire'),
    actor: fc.constantFrom(HEAD, HOLDER, STRANGER, SYSTEM),
    token: fc.constantFrom('current', 'current', 'old', 'none'),
    requeue: fc.boolean(),
    waitMs: fc.constantFrom(0, 1, 1_000, 59_999, 60_000, 61_000),
    leaseMs: fc.constantFrom(null, null, 500, 600_000),
  }),
  { maxLength: 60 },
);

const start = fc.record({
  maxAttempts: fc.integer({ min: 1, max: 5 }),
  retryMode: fc.constantFrom('requeue' as const, 'lineage' as const),
  retryMax: fc.integer({ min: 0, max: 2 }),
  backoffMs: fc.constantFrom(0, 1_000),
  timeoutMs: fc.constantFrom(null, 5_000),
  watched: fc.boolean(),
});

const OPERATOR: readonly JobCommand['kind'][] = ['retry', 'redrive'];

interface Moment {
  readonly before: Job;
  readonly step: Step;
  readonly decision: Decision;
  readonly now: number;
}

/** Plays a history, giving events their numbers as the change set does. */
function play(first: Partial<Job>, history: readonly Step[], look: (moment: Moment) => void): void {
  let job = jobIn('queued', first);
  let now = NOW;
  const tokens: string[] = [];
  for (const step of history) {
    now += step.waitMs;
    const before = structuredClone(job);
    const decision = decide(job, commandOf(step, job, tokens, now), now);
    assert.deepEqual(job, before, 'the row that was given must not change');
    job = { ...decision.job, seq: decision.job.seq + decision.events.length };
    if (job.leaseToken !== null && !tokens.includes(job.leaseToken)) tokens.push(job.leaseToken);
    look({ before, step, decision: { ...decision, job }, now });
  }
}

function commandOf(step: Step, job: Job, tokens: readonly string[], now: number): JobCommand {
  if (step.kind === 'claim')
    return claimBy(step.actor, { token: `t${tokens.length}`, leaseMs: step.leaseMs });
  const token =
    step.token === 'none'
      ? null
      : step.token === 'current'
        ? (job.leaseToken ?? tokens.at(-1) ?? 'never')
        : (tokens.at(-2) ?? 'never');
  const made = command(step.kind, step.actor, token);
  if (made.kind === 'fail') return { ...made, requeue: step.requeue };
  return made.kind === 'snooze' ? { ...made, untilAt: now + step.waitMs } : made;
}

function holds(name: string, law: (moment: Moment) => void): void {
  test(name, () => {
    let moments = 0;
    fc.assert(
      fc.property(start, steps, (first, history) => {
        play(first, history, (moment) => {
          moments += 1;
          law(moment);
        });
      }),
      { numRuns: 1_000 },
    );
    assert.ok(moments > 1_000, 'the histories were empty');
  });
}

holds(
  'a job never runs more often than it may, unless an operator gives it more',
  ({ before, decision: { job } }) => {
    assert.ok(job.attempts <= job.maxAttempts);
    if (job.maxAttempts !== before.maxAttempts) assert.ok(isFinal(before.state));
  },
);

holds(
  'the fence rises with every claim and never otherwise, so no two leases share one',
  ({ before, decision: { job } }) => {
    const newLease = job.leaseToken !== null && job.leaseToken !== before.leaseToken;
    assert.equal(job.fence, before.fence + (newLease ? 1 : 0));
  },
);

holds(
  'every change of state has an event, and a refused command has one only when it kills the job',
  ({ before, decision }) => {
    if (decision.job.state !== before.state) assert.ok(decision.events.length > 0);
    if (!decision.answer.ok && decision.events.length > 0) assert.equal(decision.job.state, 'dead');
  },
);

holds('an ended job stays ended until an operator reopens it', ({ before, step, decision }) => {
  if (!isFinal(before.state) || isFinal(decision.job.state)) return;
  assert.ok(OPERATOR.includes(step.kind), `${step.kind} reopened a job that was ${before.state}`);
  assert.deepEqual(
    decision.events.map((event) => event.kind),
    ['job.reopened'],
  );
});

holds(
  'a running job has a token, an end of its lease and a holder, and no waiting job has any of them',
  ({ decision: { job } }) => {
    const lease = [job.leaseToken, job.leaseUntil];
    if (job.state === 'running') assert.ok([...lease, job.claimedBy].every((part) => part !== null));
    else
      assert.deepEqual(
        [...lease, job.claimId, job.timeoutAt, job.tokenUsed],
        [null, null, null, null, false],
      );
    if (!isFinal(job.state) && job.state !== 'running') assert.equal(job.claimedBy, null);
  },
);

holds('no heartbeat shortens a lease', ({ before, step, decision }) => {
  if (step.kind !== 'heartbeat' || !decision.answer.ok) return;
  assert.ok((decision.job.leaseUntil ?? 0) >= (before.leaseUntil ?? Infinity));
});

holds('whoever sends a token that is not the current one changes nothing', ({ before, step, decision }) => {
  const byToken = ['heartbeat', 'complete', 'fail', 'release', 'snooze', 'log', 'note'].includes(step.kind);
  if (!byToken || step.token !== 'old') return;
  const { seq: _, ...after } = decision.job;
  const { seq: __, ...was } = before;
  assert.deepEqual(after, was);
});

holds(
  'an ended job has an end time and is settled or waits to be; an open one has neither',
  ({ decision: { job } }) => {
    assert.equal(job.finishedAt !== null, isFinal(job.state));
    assert.equal(job.settled !== OPEN, isFinal(job.state));
  },
);

holds('only a failed member of a lineage announces another', ({ decision: { job } }) => {
  if (job.retryAt === null) return;
  assert.deepEqual([job.state, job.retryMode], ['failed', 'lineage']);
  assert.ok(job.retryCount < job.retryMax);
});
