import assert from 'node:assert/strict';
import { test } from 'node:test';
import { admit, dependencyMet } from '../../src/domain/admit.ts';
import { ERRORS } from '../../src/domain/error.ts';
import {
  FINAL_STATES,
  isFinal,
  OPEN_STATES,
  STATES,
  UNSETTLED,
  SETTLED,
  type State,
} from '../../src/domain/job.ts';
import { isKeyPool, keyPool, needsSlots, slotPools } from '../../src/domain/pool.ts';
import { finish } from '../../src/domain/retry.ts';
import { RUN_STATUS_OF, SPINE_STATUSES, SPINE_STATUS_OF, statesShownAs } from '../../src/domain/statuses.ts';
import { jobIn, NOW } from './fixtures.ts';

test('every state has a word in the files and for runs, as the contracts say [SP-29]', () => {
  const words: Record<State, readonly [spine: string, run: string | null]> = {
    scheduled: ['queued', null],
    blocked: ['queued', null],
    awaiting_approval: ['queued', 'awaiting_approval'],
    queued: ['queued', 'pending'],
    running: ['running', 'running'],
    done: ['done', 'ok'],
    failed: ['failed', 'error'],
    dead: ['dead', 'error'],
    cancelled: ['failed', 'cancelled'],
    skipped: ['dead', 'skipped'],
  };
  for (const state of STATES)
    assert.deepEqual([SPINE_STATUS_OF[state], RUN_STATUS_OF[state]], words[state], state);
});

test('the statuses of the Spine door share the states out, leaving none and none twice', () => {
  const shown = SPINE_STATUSES.flatMap((word) => statesShownAs(SPINE_STATUS_OF, word));
  assert.equal(shown.length, STATES.length);
  assert.deepEqual(shown.toSorted(), [...STATES].toSorted());
});

test('a state is final or open, never both', () => {
  assert.deepEqual([...FINAL_STATES, ...OPEN_STATES].toSorted(), [...STATES].toSorted());
  for (const state of STATES)
    assert.equal(isFinal(state), (FINAL_STATES as readonly State[]).includes(state));
});

test('a job waits for its dependencies first, then for its time, then for its approval', () => {
  const at = (waitingFor: number, runAt: number): State =>
    admit({ waitingFor, runAt, approval: 'none' }, NOW);
  assert.equal(at(1, NOW + 1), 'blocked');
  assert.equal(at(1, NOW), 'blocked');
  assert.equal(at(0, NOW + 1), 'scheduled');
  assert.equal(at(0, NOW), 'queued');
  assert.equal(at(0, NOW - 1), 'queued');
  const needingApproval = (runAt: number): State => admit({ waitingFor: 0, runAt, approval: 'needed' }, NOW);
  assert.equal(needingApproval(NOW + 1), 'scheduled');
  assert.equal(needingApproval(NOW), 'awaiting_approval');
  assert.equal(admit({ waitingFor: 0, runAt: NOW, approval: 'given' }, NOW), 'queued');
});

test('a dependency is met by the end it asked for', () => {
  for (const end of FINAL_STATES) {
    assert.equal(dependencyMet('complete', end), true, end);
    assert.equal(dependencyMet('success', end), end === 'done', end);
    assert.equal(dependencyMet('failure', end), end !== 'done', end);
  }
});

test('a job needs a slot of its pool and one of its key', () => {
  assert.deepEqual(slotPools({ pool: null, concurrencyKey: null }), []);
  assert.deepEqual(slotPools({ pool: 'gpu', concurrencyKey: null }), ['gpu']);
  assert.deepEqual(slotPools({ pool: 'gpu', concurrencyKey: 'alice' }), ['gpu', 'gpu/alice']);
  assert.deepEqual(slotPools({ pool: null, concurrencyKey: 'alice' }), ['/alice']);
  assert.equal(needsSlots({ pool: null, concurrencyKey: null }), false);
  assert.equal(needsSlots({ pool: null, concurrencyKey: 'alice' }), true);
});

test("a key's pool is never taken for a named one", () => {
  assert.equal(isKeyPool(keyPool(null, 'x')), true);
  assert.equal(isKeyPool(keyPool('gpu', 'x')), true);
  assert.equal(isKeyPool('gpu'), false);
  assert.notEqual(keyPool('a', 'b/c'), keyPool(null, 'a/b/c'));
});

test('a job is left unsettled when something waits for its end, and only then', () => {
  const settledAfter = (change: Parameters<typeof jobIn>[1]): number => {
    const job = jobIn('running', change);
    finish(job, 'done', NOW);
    return job.settled;
  };
  assert.equal(settledAfter({}), SETTLED);
  assert.equal(settledAfter({ watched: true }), UNSETTLED);
  assert.equal(settledAfter({ retryAt: NOW }), UNSETTLED);
  assert.equal(settledAfter({ rootNo: 7 }), UNSETTLED);
  assert.equal(settledAfter({ scheduleId: 's' }), UNSETTLED);
});

test('every refusal has a status that blames the right side, a message and a hint', () => {
  for (const [code, entry] of Object.entries(ERRORS)) {
    assert.ok(entry.status >= 400 && entry.status < 600, code);
    assert.ok(entry.message.length > 0 && entry.hint.length > 0, code);
    if (entry.status === 429 || entry.status === 503) assert.equal(entry.retryable, true, code);
    // A request that was too slow may come again, faster.
    if (entry.status < 409 && entry.status !== 408) assert.equal(entry.retryable, false, code);
  }
});
