import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beaten, foundStale, isStale, isTaken, slotView, started } from '../../src/domain/worker-slot.ts';

const START = { slot: 'slot-1', instance: 'a', gone: null, metadata: { workerPid: 7 } };
const FRESH = started(null, START, 'w', 1_000);

test('a worker is stale after its time, unless it said good-bye [WK-07 WK-34]', () => {
  assert.equal(isStale(FRESH, 90_000, 91_000), false);
  assert.equal(isStale(FRESH, 90_000, 91_001), true);
  assert.equal(isStale({ ...FRESH, status: 'offline' }, 90_000, 1_000_000), false);
});

test('a slot is free for its own process, after one that is gone, silent or has left [WK-28]', () => {
  const next = { ...START, instance: 'b' };
  assert.equal(isTaken(FRESH, next, 90_000, 2_000), true);
  assert.equal(isTaken(FRESH, START, 90_000, 2_000), false);
  assert.equal(isTaken(FRESH, { ...next, gone: 'a' }, 90_000, 2_000), false);
  assert.equal(isTaken(FRESH, next, 90_000, 100_000), false);
  assert.equal(isTaken({ ...FRESH, status: 'offline' }, next, 90_000, 2_000), false);
});

test('what a slot shows has the names of the text [WK-03 WK-04]', () => {
  const nothing = { jobId: null, attempt: null, title: null, sessionId: null };
  const working = beaten(
    FRESH,
    {
      slot: 'slot-1',
      instance: 'a',
      status: 'working',
      jobId: 'j',
      attempt: 1,
      title: 'T',
      sessionId: 's',
      metadata: { taskStartedAt: 5 },
    },
    2_000,
  );
  assert.deepEqual(slotView(working), {
    slot: 'slot-1',
    status: 'working',
    task: 'j',
    taskTitle: 'T',
    sessionId: 's',
    lastUpdate: 2_000,
    startedAt: 1_000,
    metadata: { workerPid: 7, taskStartedAt: 5, restartCount: 0 },
  });
  const idle = beaten(
    working,
    { slot: 'slot-1', instance: 'a', status: 'idle', ...nothing, metadata: {} },
    3_000,
  );
  assert.deepEqual(slotView(idle).metadata, { workerPid: 7, restartCount: 0 });
  assert.deepEqual(slotView(foundStale(working, 9_000)).metadata, {
    workerPid: null,
    offlineReason: 'stale-heartbeat',
    detectedAt: 9_000,
    restartCount: 0,
    leftSession: 's',
  });
});

test('what a process left running is known until the next one is heard from [WK-32]', () => {
  const working = { ...FRESH, status: 'working', jobId: 'j', attempt: 1, sessionId: 's' } as const;
  const lost = foundStale(working, 9_000);
  const next = started(lost, { ...START, instance: 'b' }, 'w', 10_000);
  const again = started(next, { ...START, instance: 'c' }, 'w', 11_000);
  assert.deepEqual(
    [working, lost, next, again].map(({ sessionId, leftSession }) => [sessionId, leftSession]),
    [
      ['s', null],
      [null, 's'],
      [null, 's'],
      [null, 's'],
    ],
  );
  const { jobId, attempt, title, sessionId } = FRESH;
  const idle = {
    slot: 'slot-1',
    instance: 'c',
    status: 'idle',
    jobId,
    attempt,
    title,
    sessionId,
    metadata: {},
  } as const;
  assert.equal(beaten(again, idle, 12_000).leftSession, null);
  const bye = beaten(working, { ...idle, status: 'offline', sessionId: 's' }, 12_000);
  assert.deepEqual([bye.sessionId, bye.leftSession], [null, 's']);
});
