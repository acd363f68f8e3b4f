import assert from 'node:assert/strict';
import { test } from 'node:test';
import { childDraft, type ParentFacts } from '../../src/domain/child-job.ts';
import type { Job } from '../../src/domain/job.ts';
import type { JobDraft } from '../../src/engine/engine.ts';
import { NewJob } from '../../src/http/doors/spine/new-job.ts';
import { jobIn } from './fixtures.ts';

const DEFAULTS = { leaseMs: 300_000, maxAttempts: 5 };

function parent(over: Partial<Job> = {}, more: Partial<ParentFacts> = {}): ParentFacts {
  return {
    job: jobIn('running', { maxAttempts: 3, ...over }),
    approvalTerms: null,
    budget: null,
    defaults: DEFAULTS,
    ...more,
  };
}

function judge(draft: Partial<JobDraft>, of: ParentFacts = parent()) {
  return childDraft<JobDraft>({ target: 'any', parentId: 'p', ...draft }, of);
}

/** For every field of a new job a value that reaches further than a parent that has nothing but defaults; null is free. */
const FURTHER: { readonly [K in keyof typeof NewJob.properties]: unknown } = {
  target: 'gateway:main',
  // The door turns it into a target.
  queue: null,
  // Looked up by the engine: only those that exist.
  type: null,
  newType: true,
  priority: 1,
  title: null,
  description: null,
  spec: null,
  meta: null,
  params: null,
  budget: { usd: 1_000 },
  tags: null,
  // Fewer may do it, never more.
  requires: null,
  runAt: null,
  startBefore: null,
  timeoutMs: 60_001,
  leaseMs: 300_001,
  maxAttempts: 4,
  retry: { max: 3 },
  uniqueKey: 'mine',
  // Who may be named there is judged with the rows.
  after: null,
  pool: 'gpu',
  concurrencyKey: 'customer-7',
  approval: { auto: 'approve' },
  parentId: null,
  traceparent: null,
  announce: true,
};

test('every field of a new job that would reach beyond its parent is refused to a holder, by its name', () => {
  const approvalTerms = { timeoutMs: 60_000, auto: 'reject' } as const;
  for (const field of Object.keys(NewJob.properties)) {
    assert.ok(field in FURTHER, `${field} is new: say here what would reach further than its parent`);
    const further = FURTHER[field as keyof typeof FURTHER];
    if (further === null) continue;
    const answer = judge({ [field]: further }, parent({ timeoutMs: 60_000 }, { approvalTerms }));
    assert.ok('problem' in answer, field);
    assert.ok(answer.field.startsWith(field));
    assert.ok(answer.problem.includes(field));
  }
  const stranger = judge({ scheduleId: 'x' } as Partial<JobDraft>);
  assert.ok('problem' in stranger && stranger.field === 'scheduleId');
});

test('a child takes over what it did not ask for: pool, key, budget, limits and the approval', () => {
  const of = parent(
    { pool: 'gpu', concurrencyKey: 'c7', timeoutMs: 9_000, priority: -4, maxAttempts: 2 },
    { approvalTerms: { timeoutMs: 60_000, auto: 'approve' }, budget: '{"usd":3}' },
  );
  assert.deepEqual(judge({}, of), {
    target: 'any',
    parentId: 'p',
    priority: -4,
    timeoutMs: 9_000,
    maxAttempts: 2,
    pool: 'gpu',
    concurrencyKey: 'c7',
    budget: { usd: 3 },
    approval: { timeoutS: 60, auto: 'approve' },
  });
});

test('the child of a run that may be begun once is begun once', () => {
  const once = parent({ retryMode: 'lineage', retryMax: 0, maxAttempts: 1 });
  assert.equal((judge({}, once) as JobDraft).maxAttempts, 1);
  assert.equal((judge({ retry: { mode: 'lineage' } }, once) as JobDraft).retry?.max, 0);
  assert.ok('problem' in judge({ retry: { mode: 'lineage', max: 1 } }, once));
  assert.ok('problem' in judge({ maxAttempts: 2 }, once));
});

test('an approval may be stricter than the parent’s, never looser', () => {
  const approve = { approvalTerms: { timeoutMs: 60_000, auto: 'approve' } } as const;
  assert.ok(!('problem' in judge({ approval: { auto: 'reject', timeoutS: 5 } }, parent({}, approve))));
  assert.ok(!('problem' in judge({ approval: { auto: 'approve', timeoutS: 60 } }, parent({}, approve))));
  assert.ok('problem' in judge({ approval: { auto: 'approve', timeoutS: 59 } }, parent({}, approve)));
  assert.ok(!('problem' in judge({ approval: { auto: 'approve' } })));
});

test('work for a gateway’s agents or for the shell is no child’s to ask for, except where its parent is the same', () => {
  const plain = parent({ target: 'gateway:main' });
  assert.ok(!('problem' in judge({ target: 'gateway:main' }, plain)));
  assert.ok('problem' in judge({ target: 'gateway:side' }, plain));
  assert.ok('problem' in judge({ target: 'shell' }, plain));
  const run = parent({ target: 'gateway:main', scheduleId: 's' });
  assert.ok('problem' in judge({ target: 'gateway:main' }, run));
});
