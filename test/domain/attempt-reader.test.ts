import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AttemptReader } from '../../src/domain/attempts.ts';
import type { EventKind } from '../../src/domain/event.ts';
import { queuedMs, runMs } from '../../src/domain/job-times.ts';
import { traceparentFrom } from '../../src/domain/trace.ts';
import { jobIn } from './fixtures.ts';

function outcomesOf(...kinds: EventKind[]): string[] {
  const reader = new AttemptReader();
  kinds.forEach((kind, i) => reader.add({ jobNo: 1, seq: i + 1, at: i, kind, by: 'w', facts: null }));
  return reader.attempts.map(({ outcome, startedAt, endedAt }) => `${outcome} ${startedAt}-${endedAt ?? ''}`);
}

test('each claim has one outcome: the first event that ends it [WK-39]', () => {
  assert.deepEqual(outcomesOf('job.created', 'job.queued'), []);
  assert.deepEqual(outcomesOf('job.created', 'job.claimed', 'job.heartbeat', 'job.comment'), ['running 1-']);
  assert.deepEqual(outcomesOf('job.claimed', 'job.expired', 'job.dead'), ['expired 0-1']);
  assert.deepEqual(outcomesOf('job.claimed', 'job.released', 'job.cancelled'), ['released 0-1']);
  assert.deepEqual(outcomesOf('job.claimed', 'job.asked', 'job.answered', 'job.claimed', 'job.completed'), [
    'asked 0-1',
    'done 3-4',
  ]);
  assert.deepEqual(outcomesOf('job.claimed', 'job.timeout', 'job.claimed', 'job.snoozed', 'job.cancelled'), [
    'timeout 0-1',
    'snoozed 2-3',
  ]);
});

test('a history of which the beginning is left out begins with the first whole attempt', () => {
  assert.deepEqual(outcomesOf('job.completed', 'job.reopened', 'job.claimed', 'job.failed'), ['failed 2-3']);
});

/** Each event with the time at which it came, and its facts. */
type Told = readonly [kind: EventKind, at: number, facts?: Record<string, unknown>];

function timesOf(...told: Told[]): (number | null)[][] {
  const reader = new AttemptReader();
  told.forEach(([kind, at, facts = null], i) =>
    reader.add({ jobNo: 1, seq: i + 1, at, kind, by: 'w', facts }),
  );
  return reader.attempts.map(({ queuedMs: queued, runMs: ran }) => [queued, ran]);
}

test('an attempt has waited since the job was ready for it, and has run until it ended', () => {
  const first: Told[] = [
    ['job.created', 100, { state: 'queued' }],
    ['job.comment', 105],
    ['job.claimed', 110],
    ['job.heartbeat', 120],
  ];
  assert.deepEqual(timesOf(...first), [[10, null]]);
  assert.deepEqual(timesOf(...first, ['job.released', 130], ['job.claimed', 137], ['job.completed', 140]), [
    [10, 20],
    [7, 3],
  ]);
  const failed: Told = ['job.failed', 130, { state: 'scheduled', runAt: 500 }];
  const retried: Told[] = [...first, failed, ['job.queued', 501, { state: 'queued' }], ['job.claimed', 503]];
  assert.deepEqual(timesOf(...retried), [
    [10, 20],
    [2, null],
  ]);
  const reopened: Told[] = [...retried, ['job.completed', 510], ['job.reopened', 600], ['job.claimed', 640]];
  assert.deepEqual(timesOf(...reopened).at(-1), [40, null]);
});

test('what a job waits for before it is ready is not counted as waiting for a worker', () => {
  const claimed: Told = ['job.claimed', 900];
  const later = { state: 'scheduled', runAt: 800 };
  assert.deepEqual(timesOf(['job.created', 100, later], ['job.queued', 800, { state: 'queued' }], claimed), [
    [100, null],
  ]);
  const asked: Told[] = [['job.asked', 300], ['job.answered', 890], claimed];
  assert.deepEqual(timesOf(['job.created', 100], ['job.claimed', 200], ...asked), [
    [100, 100],
    [10, null],
  ]);
  const approved: Told = ['job.approved', 850, { state: 'queued' }];
  assert.deepEqual(timesOf(['job.created', 100, { state: 'awaiting_approval' }], approved, claimed), [
    [50, null],
  ]);
});

test('a job that is put off or brought forward has waited since it was ready', () => {
  const created: Told = ['job.created', 100, { state: 'queued' }];
  const claimed: Told = ['job.claimed', 900];
  const off: Told = ['job.snoozed', 200, { runAt: 700 }];
  assert.deepEqual(timesOf(created, off, ['job.edited', 300, { runAt: 250 }], claimed), [[600, null]]);
  assert.deepEqual(timesOf(created, ['job.edited', 300, { runAt: 250 }], claimed), [[800, null]]);
  assert.deepEqual(timesOf(created, ['job.edited', 300, { priority: 2 }], claimed), [[800, null]]);
});

test('how long an attempt waited is not told when the history begins after that', () => {
  assert.deepEqual(timesOf(['job.claimed', 900], ['job.completed', 950]), [[null, 50]]);
});

test('a job tells how long it waited and ran only for the attempt that it is in, or ended with', () => {
  const row = jobIn('queued', { createdAt: 100 });
  assert.deepEqual([queuedMs(row), runMs(row)], [null, null]);
  const running = { ...row, state: 'running', startedAt: 150 } as const;
  assert.deepEqual([queuedMs(running), runMs(running)], [50, null]);
  const later = { ...running, queuedAt: 140, state: 'done', finishedAt: 175 } as const;
  assert.deepEqual([queuedMs(later), runMs(later)], [10, 25]);
});

test('a traceparent of a later version is read as far as this one knows it', () => {
  const ids = '-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  assert.equal(traceparentFrom(`00${ids}`), `00${ids}`);
  assert.equal(traceparentFrom(`01${ids}`), `00${ids}`);
  assert.equal(traceparentFrom(`01${ids}-what`), `00${ids}`);
  for (const bad of [`00${ids}-what`, `01${ids}what`, `ff${ids}`, '', undefined, [`00${ids}`]])
    assert.equal(traceparentFrom(bad), null);
});
