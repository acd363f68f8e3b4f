import { deepStrictEqual, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { JOB_FIELDS } from '../../src/domain/job-fields.ts';
import { nextOfLineage } from '../../src/domain/new-job.ts';
import { jobIn, NOW } from './fixtures.ts';

test('a new job has every field of the table, in its order', () => {
  deepStrictEqual(
    Object.keys(jobIn('queued')),
    JOB_FIELDS.map(({ name }) => name),
  );
});

test('the next job of a lineage has what the failed one was made with, and nothing that came of it', () => {
  const failed = jobIn('failed', {
    no: 7,
    typeNo: 3,
    target: 'left-claw',
    createdBy: 'ada',
    timeoutMs: 5_000,
    retryMode: 'lineage',
    retryMax: 2,
    backoffMs: 10,
    parentNo: 4,
    scheduleId: 'nightly',
    uniqueKey: 'one',
    pool: 'gpu',
    concurrencyKey: 'k',
    maxAttempts: 1,
    watched: true,
    approval: 'given',
    attempts: 1,
    fence: 1,
    claimedBy: 'left-claw',
    reason: 'no luck',
    progress: '1',
    retryAt: NOW,
    comments: 2,
    cause: 'stale',
    seq: 12,
  });
  const own = {
    id: 'job-2',
    createdAt: NOW,
    updatedAt: NOW,
    uniqueKey: null,
    retryCount: 1,
    state: 'queued',
    runAt: NOW,
    priority: 9,
    score: 0,
    scoreAt: null,
  } as const;
  const { no: _, ...fresh } = jobIn('queued');
  deepStrictEqual(nextOfLineage(failed, own), {
    ...fresh,
    typeNo: 3,
    target: 'left-claw',
    createdBy: 'ada',
    timeoutMs: 5_000,
    retryMode: 'lineage',
    retryMax: 2,
    backoffMs: 10,
    parentNo: 4,
    scheduleId: 'nightly',
    pool: 'gpu',
    concurrencyKey: 'k',
    maxAttempts: 1,
    watched: true,
    approval: 'given',
    retryOf: 7,
    rootNo: 7,
    ...own,
  });
  strictEqual(nextOfLineage({ ...failed, rootNo: 2 }, own).rootNo, 2);
});
