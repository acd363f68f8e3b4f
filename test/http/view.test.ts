import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import { type Job, STATES } from '../../src/domain/job.ts';
import { JOB_FIELDS } from '../../src/domain/job-fields.ts';
import { newJob } from '../../src/domain/new-job.ts';
import { EXTREME } from '../conformance/rows.ts';
import { eventView } from '../../src/http/events/view.ts';
import { forHolder, jobJson, onlyInput, outcomeOf } from '../../src/http/doors/spine/view.ts';

const INPUT = {
  title: null,
  description: null,
  spec: null,
  meta: null,
  params: null,
  tags: [],
  budget: null,
};
const JOB: Job = {
  no: 7,
  ...newJob({
    id: 'a-job',
    target: 'any',
    createdAt: 1_000,
    createdBy: 'head',
    leaseMs: 300_000,
    state: 'queued',
    updatedAt: 2_000,
    runAt: 1_000,
    maxAttempts: 5,
  }),
};

/** Within what a date can show. */
const TIMES: Partial<Job> = {
  createdAt: 1_000,
  updatedAt: 2_000,
  leaseUntil: 3_000,
  finishedAt: 4_000,
  runAt: 5_000,
  retryAt: 6_000,
  checkpointAt: 7_000,
  startedAt: 8_000,
  startBefore: 9_000,
};

const shown = (job: Partial<Job>, extra?: string): Record<string, unknown> =>
  JSON.parse(jobJson({ ...JOB, ...job }, onlyInput(INPUT, null), extra)) as Record<string, unknown>;

suite('a job as it is shown', () => {
  test('has the fields of v0 and leaves out what is not set', () => {
    deepStrictEqual(shown({}), {
      id: 'a-job',
      no: 7,
      target: 'any',
      status: 'queued',
      state: 'queued',
      createdAt: '1970-01-01T00:00:01.000Z',
      updatedAt: '1970-01-01T00:00:02.000Z',
      createdBy: 'head',
      claimedBy: null,
      leaseUntil: null,
      attempts: 0,
      maxAttempts: 5,
      comments: [],
      priority: 0,
      leaseMs: 300_000,
      tags: [],
      spec: '',
      meta: {},
      result: null,
      error: null,
    });
  });

  test('shows its own values, however like the one that was shown before', () => {
    const others: Partial<Job> = {
      updatedAt: 3_000,
      createdBy: 'other',
      claimedBy: 'left-claw',
      leaseUntil: 4_000,
      attempts: 1,
      maxAttempts: 6,
      priority: 1,
      leaseMs: 1_000,
    };
    const times = new Set(['updatedAt', 'leaseUntil']);
    for (const [field, value] of Object.entries(others)) {
      const before = shown({});
      const expected = times.has(field) ? new Date(Number(value)).toISOString() : value;
      deepStrictEqual(shown({ [field]: value }), { ...before, [field]: expected });
    }
  });

  test('shows every field that the table of fields shows, as it is, and no other', () => {
    const row = newJob({ ...EXTREME, id: 'a "job"', createdAt: 1_000, updatedAt: 2_000 });
    const odd: Job = { no: 8, ...row, ...TIMES, progress: '{"a":[1]}' };
    const rest = new Set(Object.keys(shown({})));
    const told = Object.entries(shown(odd)).filter(([name]) => name in odd || !rest.has(name));
    const expected = JOB_FIELDS.flatMap(({ name, is, shown }): [string, unknown][] => {
      if (shown !== 'always' && shown !== 'set') return [];
      const value = name === 'blockedOn' ? 'answer' : odd[name];
      if (is === 'time') return [[name, new Date(Number(value)).toISOString()]];
      return [[name, is === 'json' || is === 'texts' ? (JSON.parse(String(value)) as unknown) : value]];
    });
    const beside = new Set(['comments', 'retry', 'releaseReason', 'queuedMs']);
    deepStrictEqual(
      Object.fromEntries(told.filter(([name]) => !beside.has(name))),
      Object.fromEntries(expected),
    );
  });

  test('[SP-29] speaks of every state in the words of v0', () => {
    const words = STATES.map((state) => `${state}: ${String(shown({ state })['status'])}`);
    deepStrictEqual(words, [
      'scheduled: queued',
      'blocked: queued',
      'awaiting_approval: queued',
      'queued: queued',
      'running: running',
      'done: done',
      'failed: failed',
      'dead: dead',
      'cancelled: failed',
      'skipped: dead',
    ]);
  });

  test('shows its lease token to the holder alone, and its other secrets to nobody', () => {
    const running: Partial<Job> = {
      state: 'running',
      leaseToken: 'secret-1',
      endedToken: 'secret-2',
      claimId: 'secret-3',
      attempts: 2,
    };
    ok(!JSON.stringify(shown(running)).includes('secret'));
    const { leaseToken, attempt } = shown(running, forHolder({ ...JOB, ...running }));
    deepStrictEqual([leaseToken, attempt], ['secret-1', 2]);
  });

  test('pastes stored JSON as it is', () => {
    const details = {
      ...onlyInput(
        {
          ...INPUT,
          spec: '{"a":[1,2]}',
          meta: 'null',
          params: '"p"',
          budget: '5',
          tags: ['x'],
          title: 'A "title"',
        },
        'build',
      ),
      result: '{"ok":true}',
      error: '"why"',
      comments: [{ at: 0, by: 'head', text: 'hi' }],
      retryOfId: 'first',
      parentId: 'parent',
    };
    const job = JSON.parse(jobJson({ ...JOB, progress: '{"at":"50%"}' }, details)) as Record<string, unknown>;
    const {
      spec,
      meta,
      params,
      budget,
      tags,
      title,
      type,
      result,
      error,
      comments,
      retryOf,
      parentId,
      progress,
    } = job;
    deepStrictEqual(
      [spec, meta, params, budget, tags, title, type],
      [{ a: [1, 2] }, null, 'p', 5, ['x'], 'A "title"', 'build'],
    );
    deepStrictEqual(
      [result, error, retryOf, parentId, progress],
      [{ ok: true }, 'why', 'first', 'parent', { at: '50%' }],
    );
    deepStrictEqual(comments, [{ t: '1970-01-01T00:00:00.000Z', by: 'head', text: 'hi' }]);
  });

  test('says why it was released, but calls the reason of a cancel only a reason', () => {
    strictEqual(shown({ reason: 'not now' })['releaseReason'], 'not now');
    const cancelled = shown({ reason: 'no need', state: 'cancelled' });
    deepStrictEqual([cancelled['reason'], cancelled['releaseReason']], ['no need', undefined]);
  });

  test('tells a repeated call how the first one ended', () => {
    strictEqual(outcomeOf({ ok: true, job: JOB }), '');
    const again = outcomeOf({ ok: true, job: JOB, repeated: { verb: 'fail', state: 'dead' } });
    deepStrictEqual(shown({}, again)['outcome'], { verb: 'fail', status: 'dead' });
  });

  test('has events whose facts cannot hide what happened, with times as ISO', () => {
    const facts = { runAt: 0, leaseUntil: 0, type: 'build', attempts: 1 };
    const event = { jobNo: 7, seq: 3, at: 0, kind: 'job.snoozed', by: 'head', facts } as const;
    deepStrictEqual(eventView(event, null), {
      seq: 3,
      t: '1970-01-01T00:00:00.000Z',
      type: 'job.snoozed',
      by: 'head',
      runAt: '1970-01-01T00:00:00.000Z',
      leaseUntil: '1970-01-01T00:00:00.000Z',
      attempts: 1,
    });
  });
});
