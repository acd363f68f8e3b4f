import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fail } from '../../src/domain/command.ts';
import { decide } from '../../src/domain/decide.ts';
import { afterFailure, backoffDelayMs } from '../../src/domain/retry.ts';
import type { Job, State } from '../../src/domain/job.ts';
import { claimBy, command, HOLDER, jobIn, LEASE_MS, NOW, SYSTEM } from './fixtures.ts';

const failing = command('fail', HOLDER) as Fail;

const ENDS = ['fail', 'expire', 'release'] as const;
type End = (typeof ENDS)[number];

/** Runs the job, ends every attempt the same way, and claims again until a claim is refused or the job has ended. */
function runOut(maxAttempts: number, end: End): { runs: number; state: State; refusals: string[] } {
  let job = jobIn('queued', { maxAttempts });
  let now = NOW;
  let runs = 0;
  const refusals: string[] = [];
  while (job.state === 'queued' && runs <= maxAttempts + 1) {
    const claim = decide(job, claimBy(HOLDER, { token: `t${runs}` }), now);
    job = claim.job;
    if (!claim.answer.ok) {
      refusals.push(claim.answer.code);
      break;
    }
    runs += 1;
    now += LEASE_MS;
    job = ended(job, end, now);
  }
  return { runs, state: job.state, refusals };
}

function ended(job: Job, end: End, now: number): Job {
  if (end === 'expire') return decide(job, command('expire', SYSTEM), now).job;
  return decide(job, command(end, HOLDER, job.leaseToken), now).job;
}

for (const maxAttempts of [1, 2, 3, 4, 5]) {
  test(`with maxAttempts ${maxAttempts} a failing job runs exactly ${maxAttempts} times and is dead [SP-30 SP-32]`, () => {
    assert.deepEqual(runOut(maxAttempts, 'fail'), { runs: maxAttempts, state: 'dead', refusals: [] });
  });
  test(`with maxAttempts ${maxAttempts} a job whose lease runs out runs exactly ${maxAttempts} times and is dead [SP-36]`, () => {
    assert.deepEqual(runOut(maxAttempts, 'expire'), { runs: maxAttempts, state: 'dead', refusals: [] });
  });
  test(`with maxAttempts ${maxAttempts} a job that is always given back runs ${maxAttempts} times; the next claim kills it [SP-33 SP-35]`, () => {
    assert.deepEqual(runOut(maxAttempts, 'release'), {
      runs: maxAttempts,
      state: 'dead',
      refusals: ['max_attempts_reached'],
    });
  });
}

test('a release leaves the attempts as the claim made them [SP-24 SP-35]', () => {
  const held = decide(jobIn('queued', { attempts: 2, fence: 2 }), command('claim', HOLDER), NOW).job;
  assert.equal(held.attempts, 3);
  const released = decide(held, command('release', HOLDER, held.leaseToken), NOW).job;
  assert.equal(released.attempts, 3);
  assert.equal(released.state, 'queued');
});

test('a claim over the limit marks the job dead and tells the claimer both numbers [SP-33]', () => {
  const { job, answer, events } = decide(
    jobIn('queued', { attempts: 3, maxAttempts: 3 }),
    command('claim', HOLDER),
    NOW,
  );
  assert.deepEqual(answer, {
    ok: false,
    code: 'max_attempts_reached',
    details: { attempts: 3, maxAttempts: 3 },
  });
  assert.equal(job.state, 'dead');
  assert.equal(job.finishedAt, NOW);
  assert.deepEqual(
    events.map((event) => event.kind),
    ['job.dead'],
  );
});

test('fail without requeue ends as failed under the limit and as dead at it [SP-23 SP-31 SP-32]', () => {
  const fail = { ...command('fail', HOLDER), requeue: false } as ReturnType<typeof command>;
  assert.equal(decide(jobIn('running', { attempts: 1, maxAttempts: 2 }), fail, NOW).job.state, 'failed');
  assert.equal(decide(jobIn('running', { attempts: 2, maxAttempts: 2 }), fail, NOW).job.state, 'dead');
});

test('a job that died says so in an event of its own', () => {
  const last = jobIn('running', {
    attempts: 5,
    maxAttempts: 5,
    leaseUntil: NOW,
    timeoutMs: 1,
    timeoutAt: NOW,
  });
  for (const [kind, first] of [
    ['fail', 'job.failed'],
    ['expire', 'job.expired'],
    ['timeout', 'job.timeout'],
  ] as const) {
    const decision = decide(last, command(kind, kind === 'fail' ? HOLDER : SYSTEM), NOW);
    assert.deepEqual(
      decision.events.map((event) => event.kind),
      [first, 'job.dead'],
    );
  }
});

test('afterFailure: requeue counts attempts, lineage counts retries', () => {
  const requeue = (attempts: number, again: boolean) =>
    afterFailure(jobIn('running', { attempts, maxAttempts: 3 }), again);
  assert.deepEqual([requeue(1, true), requeue(2, true), requeue(3, true)], ['queued', 'queued', 'dead']);
  assert.deepEqual([requeue(1, false), requeue(3, false)], ['failed', 'dead']);
  const lineage = (retryCount: number, again: boolean) =>
    afterFailure(jobIn('running', { retryMode: 'lineage', retryMax: 2, retryCount, maxAttempts: 1 }), again);
  assert.deepEqual([lineage(0, true), lineage(1, true), lineage(2, true)], ['failed', 'failed', 'dead']);
  assert.deepEqual([lineage(0, false), lineage(2, false)], ['failed', 'failed']);
});

test('a lineage that goes on says when its next member is due, 30 s x 2^n', () => {
  const due = (retryCount: number): number | null => {
    const job = jobIn('running', {
      retryMode: 'lineage',
      retryMax: 9,
      retryCount,
      backoffMs: 30_000,
      maxAttempts: 1,
    });
    const { job: after } = decide(job, command('fail', HOLDER), NOW);
    assert.equal(after.state, 'failed');
    return after.retryAt === null ? null : after.retryAt - NOW;
  };
  assert.deepEqual([0, 1, 2, 3].map(due), [30_000, 60_000, 120_000, 240_000]);
});

test('a lineage that is used up, or that nobody wants again, has no next member', () => {
  const job = jobIn('running', { retryMode: 'lineage', retryMax: 1, retryCount: 1, maxAttempts: 1 });
  assert.deepEqual(pick(decide(job, command('fail', HOLDER), NOW).job), ['dead', null]);
  const unwanted = { ...command('fail', HOLDER), requeue: false } as ReturnType<typeof command>;
  assert.deepEqual(pick(decide({ ...job, retryCount: 0 }, unwanted, NOW).job), ['failed', null]);
});

test('a failed attempt with a backoff waits for its time instead of being ready at once', () => {
  const { job } = decide(jobIn('running', { backoffMs: 1_000, attempts: 3 }), command('fail', HOLDER), NOW);
  assert.deepEqual([job.state, job.runAt - NOW], ['scheduled', 4_000]);
});

test('the backoff doubles from its base and stops at an hour, or at a longer base', () => {
  assert.deepEqual(
    [1, 2, 3, 4].map((n) => backoffDelayMs(1_000, n)),
    [1_000, 2_000, 4_000, 8_000],
  );
  assert.equal(backoffDelayMs(30_000, 30), 3_600_000);
  assert.equal(backoffDelayMs(7_200_000, 3), 7_200_000);
  assert.equal(backoffDelayMs(0, 12), 0);
  assert.equal(backoffDelayMs(1_000, 0), 1_000);
  assert.equal(Number.isFinite(backoffDelayMs(30_000, 5_000)), true);
});

test('a worker that wants a wait gets 10 s, doubling up to an hour, half of that more or less', () => {
  const delays = (spread: number) =>
    [1, 2, 3, 9, 10, 40].map((attempts) => {
      const job = jobIn('running', { attempts, maxAttempts: 50 });
      const { job: after } = decide(job, { ...failing, spread }, NOW);
      assert.equal(after.state, 'scheduled');
      return after.runAt - NOW;
    });
  const HOUR = 3_600_000;
  assert.deepEqual(delays(0), [5_000, 10_000, 20_000, 1_280_000, HOUR / 2, HOUR / 2]);
  assert.deepEqual(delays(0.5), [10_000, 20_000, 40_000, 2_440_000, 0.75 * HOUR, 0.75 * HOUR]);
  assert.deepEqual(delays(1), [15_000, 30_000, 60_000, HOUR, HOUR, HOUR]);
});

test('a job says itself how long it waits, also that it does not wait', () => {
  const after = (own: Partial<Job>, spread: number | null): [State, number] => {
    const { job } = decide(jobIn('running', { attempts: 2, ...own }), { ...failing, spread }, NOW);
    return [job.state, job.runAt > NOW ? job.runAt - NOW : 0];
  };
  assert.deepEqual(after({ backoffMs: 1_000 }, 0), ['scheduled', 1_000]);
  assert.deepEqual(after({ backoffMs: 1_000 }, 1), ['scheduled', 3_000]);
  assert.deepEqual(after({ backoffMs: 0 }, 1), ['queued', 0]);
  assert.deepEqual(after({ backoffMs: null }, null), ['queued', 0], 'as v0 has it');
  assert.deepEqual(after({ backoffMs: 7_200_000 }, 1), ['scheduled', 7_200_000]);
  assert.deepEqual(
    after({ backoffMs: 30_000, scheduleId: 's' }, 1),
    ['scheduled', 60_000],
    'a schedule says when its retries come',
  );
});

function pick(job: Job): [State, number | null] {
  return [job.state, job.retryAt];
}
