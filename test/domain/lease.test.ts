import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobCommand } from '../../src/domain/command.ts';
import { decide } from '../../src/domain/decide.ts';
import type { Job } from '../../src/domain/job.ts';
import { serves } from '../../src/domain/lease.ts';
import {
  claimBy,
  command,
  HEAD,
  HOLDER,
  jobIn,
  LEASE_MS,
  NOW,
  OUTSIDER,
  STRANGER,
  SYSTEM,
  TOKEN,
} from './fixtures.ts';

const WRITES = ['heartbeat', 'complete', 'fail', 'release', 'snooze', 'log', 'note'] as const;
const ENDINGS = ['complete', 'fail', 'release', 'snooze'] as const;

test('with the current token the caller may write, whoever it is', () => {
  for (const kind of WRITES) assert.equal(code(jobIn('running'), command(kind, STRANGER)), 'ok', kind);
});

test('with a wrong or old token nobody may write, head included, and is told who holds the job', () => {
  for (const kind of WRITES) {
    for (const actor of [HOLDER, HEAD]) {
      const { answer, job } = decide(jobIn('running'), command(kind, actor, 'an old token'), NOW);
      assert.equal(answer.ok, false);
      assert.deepEqual(!answer.ok && [answer.code, answer.details], [
        'lease_lost',
        { state: 'running', claimedBy: HOLDER.name, leaseUntil: NOW + LEASE_MS },
      ]);
      assert.deepEqual(job, jobIn('running'));
    }
  }
});

test('a twin with the same name cannot write under the lease of the other', () => {
  const first = decide(jobIn('queued'), claimBy(HOLDER, { token: 'first' }), NOW).job;
  const lost = decide({ ...first, leaseUntil: NOW }, command('expire', SYSTEM), NOW).job;
  const second = decide(lost, claimBy(HOLDER, { token: 'second' }), NOW).job;
  assert.equal(second.fence, first.fence + 1);
  for (const kind of WRITES) assert.equal(code(second, command(kind, HOLDER, 'first')), 'lease_lost', kind);
  assert.equal(code(second, command('complete', HOLDER, 'second')), 'ok');
});

test('without a token the claimant and head may write, others may not [SP-27 SP-28]', () => {
  for (const kind of WRITES) {
    assert.equal(code(jobIn('running'), command(kind, HOLDER, null)), 'ok', `${kind} by the claimant`);
    assert.equal(code(jobIn('running'), command(kind, HEAD, null)), 'ok', `${kind} by head`);
    assert.equal(
      code(jobIn('running'), command(kind, STRANGER, null)),
      'not_owner',
      `${kind} by another worker`,
    );
    assert.equal(
      code(jobIn('running'), command(kind, OUTSIDER, null)),
      'forbidden',
      `${kind} by another claw`,
    );
  }
});

test('once a lease was used with its token, the claimant must send it; head need not', () => {
  const used = decide(jobIn('running'), command('heartbeat', HOLDER), NOW).job;
  assert.equal(used.tokenUsed, true);
  for (const kind of WRITES) {
    assert.equal(code(used, command(kind, HOLDER, null)), 'lease_token_required', kind);
    assert.equal(code(used, command(kind, HEAD, null)), 'ok', kind);
  }
});

test('the next lease starts without that demand', () => {
  const used = decide(jobIn('running'), command('heartbeat', HOLDER), NOW).job;
  const queued = decide(used, command('release', HOLDER), NOW).job;
  const next = decide(queued, claimBy(HOLDER), NOW).job;
  assert.equal(code(next, command('heartbeat', HOLDER, null)), 'ok');
});

test('without a token a job that does not run is refused as v0 did', () => {
  for (const kind of WRITES) {
    assert.equal(
      code(jobIn('done'), command(kind, HOLDER, null)),
      'not_running',
      `${kind} by the last holder`,
    );
    assert.equal(code(jobIn('done'), command(kind, HEAD, null)), 'not_running', `${kind} by head`);
    assert.equal(
      code(jobIn('done'), command(kind, STRANGER, null)),
      'not_owner',
      `${kind} by another worker`,
    );
  }
});

test('repeating the call that ended the lease is answered like the first time', () => {
  for (const kind of ENDINGS) {
    const first = decide(jobIn('running'), command(kind, HOLDER), NOW);
    const again = decide(first.job, command(kind, HOLDER), NOW + 5_000);
    assert.equal(again.answer.ok, true, kind);
    assert.deepEqual(again.answer.ok && again.answer.repeated, { verb: kind, state: first.job.state });
    assert.deepEqual(again.events, []);
    assert.equal(again.writes, undefined);
    assert.equal(again.job, first.job);
  }
});

test('it is still answered so after somebody else has claimed the job, and tells how it ended then', () => {
  const released = decide(jobIn('running'), command('release', HOLDER), NOW).job;
  const taken = decide(released, claimBy(STRANGER), NOW).job;
  const again = decide(taken, command('release', HOLDER), NOW);
  assert.deepEqual(again.answer.ok && again.answer.repeated, { verb: 'release', state: 'queued' });
  assert.equal(again.job, taken);
});

test('ending a lease in another way than it was ended is refused', () => {
  for (const first of ENDINGS) {
    const ended = decide(jobIn('running'), command(first, HOLDER), NOW).job;
    for (const second of ENDINGS) {
      if (second !== first)
        assert.equal(code(ended, command(second, HOLDER)), 'lease_lost', `${second} after ${first}`);
    }
  }
});

test('a lease that the reaper ended is not ended again by its holder', () => {
  const reaped = decide(jobIn('running', { leaseUntil: NOW }), command('expire', SYSTEM), NOW).job;
  for (const kind of WRITES) assert.equal(code(reaped, command(kind, HOLDER)), 'lease_lost', kind);
});

test('a heartbeat after the end of the lease counts as long as the reaper has not taken the job [SP-21]', () => {
  const late = decide(jobIn('running', { leaseUntil: NOW - 1 }), command('heartbeat', HOLDER), NOW);
  assert.equal(late.answer.ok, true);
  assert.equal(late.job.leaseUntil, NOW + LEASE_MS);
  assert.equal(decide(late.job, command('expire', SYSTEM), NOW).job.state, 'running');
});

test('a heartbeat renews the lease and never shortens it [SP-21]', () => {
  assert.equal(
    decide(jobIn('running'), command('heartbeat', HOLDER), NOW + 1_000).job.leaseUntil,
    NOW + 1_000 + LEASE_MS,
  );
  const long = jobIn('running', { leaseUntil: NOW + 10 * LEASE_MS });
  assert.equal(decide(long, command('heartbeat', HOLDER), NOW).job.leaseUntil, NOW + 10 * LEASE_MS);
});

test('a heartbeat may ask for a longer lease, and the next one does not take it back [SP-21]', () => {
  const asked = { ...command('heartbeat', HOLDER), leaseMs: 5 * LEASE_MS } as const;
  const longer = decide(jobIn('running'), asked, NOW).job;
  assert.equal(longer.leaseUntil, NOW + 5 * LEASE_MS);
  assert.equal(decide(longer, command('heartbeat', HOLDER), NOW + 1_000).job.leaseUntil, NOW + 5 * LEASE_MS);
  const shorter = { ...command('heartbeat', HOLDER), leaseMs: 1 } as const;
  assert.equal(decide(jobIn('running'), shorter, NOW).job.leaseUntil, NOW + LEASE_MS);
});

test('a heartbeat renews a lease by the length that its claim asked for', () => {
  const held = decide(jobIn('queued'), claimBy(HOLDER, { leaseMs: 10 * LEASE_MS }), NOW).job;
  const renewed = decide(held, command('heartbeat', HOLDER, held.leaseToken), NOW + 9 * LEASE_MS).job;
  assert.equal(renewed.leaseUntil, NOW + 19 * LEASE_MS);
});

test('a heartbeat without progress keeps the last one', () => {
  const told = decide(
    jobIn('running'),
    { ...command('heartbeat', HOLDER), progress: '"half"' } as JobCommand,
    NOW,
  ).job;
  assert.equal(decide(told, command('heartbeat', HOLDER), NOW).job.progress, '"half"');
});

test('a lease that was asked to be short ends when it said', () => {
  assert.equal(decide(jobIn('queued'), claimBy(HOLDER, { leaseMs: 500 }), NOW).job.leaseUntil, NOW + 500);
});

test('the work itself touches its own job and no other', () => {
  const own = { ...HOLDER, role: 'run' as const, onlyJob: 'job-1' };
  const other = { ...own, onlyJob: 'job-2' };
  for (const kind of WRITES) {
    assert.equal(code(jobIn('running'), command(kind, own)), 'ok', kind);
    assert.equal(code(jobIn('running'), command(kind, other)), 'forbidden', kind);
  }
});

test('an actor without a list of targets serves all of them, one with a list only those', () => {
  assert.equal(serves(HEAD, 'anything'), true);
  assert.equal(serves(HOLDER, 'any'), true);
  assert.equal(serves(HOLDER, 'right-claw'), false);
  assert.equal(serves({ ...HOLDER, targets: [] }, 'any'), false);
});

function code(job: Job, given: JobCommand): string {
  const { answer } = decide(job, given, NOW);
  return answer.ok ? 'ok' : answer.code;
}

test('the fixture holds the lease it says it holds', () => {
  assert.equal(jobIn('running').leaseToken, TOKEN);
});
