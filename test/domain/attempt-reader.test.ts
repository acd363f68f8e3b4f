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
