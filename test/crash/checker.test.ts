import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check, type Rule } from '../../proof/checker/check.ts';
import type { Call, FinalEvent, FinalJob } from '../../proof/checker/history.ts';

/** Two attempts of one job: the first lease is lost, the second completes. */
const CLEAN_CALLS: readonly Call[] = [
  call({ op: 'enqueue', by: 'p', key: 'k1', outcome: 'unknown' }, 0),
  call({ op: 'enqueue', by: 'p', key: 'k1', jobId: 'j1' }, 10),
  call({ op: 'claim', by: 'a', jobId: 'j1', token: 't1', attempt: 1 }, 20),
  call({ op: 'heartbeat', by: 'a', jobId: 'j1', token: 't1', attempt: 1, state: 'running' }, 30),
  call({ op: 'claim', by: 'b', jobId: 'j1', token: 't2', attempt: 2 }, 500),
  call(
    {
      op: 'complete',
      by: 'a',
      jobId: 'j1',
      token: 't1',
      attempt: 1,
      mark: 'a',
      outcome: 'refused',
      error: 'lease_lost',
    },
    510,
  ),
  call({ op: 'complete', by: 'b', jobId: 'j1', token: 't2', attempt: 2, mark: 'b', state: 'done' }, 520),
  call({ op: 'complete', by: 'b', jobId: 'j1', token: 't2', attempt: 2, mark: 'b', state: 'done' }, 530),
];
const CLEAN_EVENTS: readonly FinalEvent[] = events(
  'created',
  'claimed',
  'heartbeat',
  'expired',
  'claimed',
  'completed',
);
const CLEAN_JOB: FinalJob = {
  id: 'j1',
  key: 'k1',
  state: 'done',
  attempts: 2,
  maxAttempts: 2,
  mark: 'b',
  events: CLEAN_EVENTS,
};

test('the checker accepts a history in which everything went right', () => {
  assert.deepEqual(check(CLEAN_CALLS, [CLEAN_JOB]), []);
});

test('the checker accepts a late repetition of an ending call whose answer was lost', () => {
  const lost = call({ op: 'fail', by: 'a', jobId: 'j1', token: 't1', attempt: 1, outcome: 'unknown' }, 40);
  const again = call({ op: 'fail', by: 'a', jobId: 'j1', token: 't1', attempt: 1, state: 'queued' }, 505);
  const failed = {
    ...CLEAN_JOB,
    events: events('created', 'claimed', 'heartbeat', 'failed', 'claimed', 'completed'),
  };
  assert.deepEqual(check([...CLEAN_CALLS, lost, again], [failed]), []);
});

test('the checker counts no claim that was given back because it could not be answered', () => {
  const givenBack = events(
    'created',
    'claimed',
    'unanswered',
    'claimed',
    'heartbeat',
    'expired',
    'claimed',
    'completed',
  );
  assert.deepEqual(check(CLEAN_CALLS, [{ ...CLEAN_JOB, events: givenBack }]), []);
});

/** One planted fault each, with the rule that must name it. */
const PLANTED: readonly {
  fault: string;
  rule: Rule;
  calls?: readonly Call[];
  finals?: readonly FinalJob[];
}[] = [
  { fault: 'an acknowledged job that is not in the store', rule: 'lost', finals: [] },
  {
    fault: 'one key acknowledged under two ids',
    rule: 'duplicated',
    calls: [...CLEAN_CALLS, call({ op: 'enqueue', by: 'p', key: 'k1', jobId: 'j2' }, 12)],
    finals: [CLEAN_JOB, fresh({ id: 'j2', key: 'k2' })],
  },
  {
    fault: 'one key stored twice though acknowledged once',
    rule: 'duplicated',
    finals: [CLEAN_JOB, { ...CLEAN_JOB, id: 'j2' }],
  },
  {
    fault: 'a job nobody asked for',
    rule: 'unexpected',
    finals: [CLEAN_JOB, fresh({ id: 'j2', key: 'other' })],
  },
  {
    fault: 'a heartbeat accepted after a newer claim',
    rule: 'stale_accept',
    calls: [...CLEAN_CALLS, call({ op: 'heartbeat', by: 'a', jobId: 'j1', token: 't1', attempt: 1 }, 507)],
  },
  {
    fault: 'a release accepted after a newer claim',
    rule: 'stale_accept',
    calls: [...CLEAN_CALLS, call({ op: 'release', by: 'a', jobId: 'j1', token: 't1', attempt: 1 }, 507)],
  },
  {
    fault: 'a complete accepted after a newer claim',
    rule: 'stale_accept',
    calls: replaced(CLEAN_CALLS, 5, { outcome: 'ok', state: 'done' }),
  },
  {
    fault: 'a heartbeat accepted after its own complete',
    rule: 'stale_accept',
    calls: [...CLEAN_CALLS, call({ op: 'heartbeat', by: 'b', jobId: 'j1', token: 't2', attempt: 2 }, 540)],
  },
  {
    fault: 'one lease given to two workers',
    rule: 'shared_lease',
    calls: [...CLEAN_CALLS, call({ op: 'claim', by: 'c', jobId: 'j1', token: 't1', attempt: 1 }, 25)],
  },
  {
    fault: 'one attempt under two leases',
    rule: 'shared_lease',
    calls: [...CLEAN_CALLS, call({ op: 'claim', by: 'c', jobId: 'j1', token: 't3', attempt: 1 }, 25)],
  },
  {
    fault: 'one attempt too many in the row',
    rule: 'over_attempts',
    finals: [{ ...CLEAN_JOB, maxAttempts: 1 }],
  },
  {
    fault: 'one lease too many handed out',
    rule: 'over_attempts',
    calls: [...CLEAN_CALLS, call({ op: 'claim', by: 'c', jobId: 'j1', token: 't3', attempt: 3 }, 515)],
  },
  {
    fault: 'a claim of a job that was done',
    rule: 'revived',
    calls: [...CLEAN_CALLS, call({ op: 'claim', by: 'c', jobId: 'j1', token: 't3', attempt: 3 }, 600)],
  },
  {
    fault: 'an acknowledged result that was replaced',
    rule: 'lost_outcome',
    finals: [{ ...CLEAN_JOB, mark: 'a' }],
  },
  {
    fault: 'an acknowledged heartbeat that left nothing',
    rule: 'lost_write',
    calls: [
      ...CLEAN_CALLS,
      call({ op: 'heartbeat', by: 'a', jobId: 'j1', token: 't1', attempt: 1, state: 'running' }, 40),
    ],
  },
  {
    fault: 'an acknowledged fail after which the lease still ran out',
    rule: 'lost_write',
    calls: [
      ...CLEAN_CALLS,
      call({ op: 'fail', by: 'a', jobId: 'j1', token: 't1', attempt: 1, state: 'queued' }, 40),
    ],
  },
  {
    fault: 'an acknowledged release after which the lease still ran out',
    rule: 'lost_write',
    calls: [
      ...CLEAN_CALLS,
      call({ op: 'release', by: 'a', jobId: 'j1', token: 't1', attempt: 1, state: 'queued' }, 40),
    ],
  },
  {
    fault: "a refusal of one's own complete",
    rule: 'replay_refused',
    calls: replaced(CLEAN_CALLS, 7, { outcome: 'refused', error: 'lease_lost' }),
  },
  {
    fault: 'a missing event',
    rule: 'event_gap',
    finals: [{ ...CLEAN_JOB, events: CLEAN_EVENTS.filter((event) => event.seq !== 3) }],
  },
  { fault: 'a job without events', rule: 'event_gap', finals: [{ ...CLEAN_JOB, events: [] }] },
  {
    fault: 'a second claim while the first lease lived',
    rule: 'event_mismatch',
    finals: [{ ...CLEAN_JOB, events: events('created', 'claimed', 'claimed', 'completed') }],
  },
  {
    fault: 'a last event that does not fit the state',
    rule: 'event_mismatch',
    finals: [{ ...CLEAN_JOB, events: CLEAN_EVENTS.slice(0, -1) }],
  },
  {
    fault: 'events that run back in time',
    rule: 'event_mismatch',
    finals: [
      { ...CLEAN_JOB, events: CLEAN_EVENTS.map((event) => ({ ...event, timeMs: 1_000 - event.seq })) },
    ],
  },
  {
    fault: 'fewer claims in the events than in the row',
    rule: 'event_mismatch',
    finals: [{ ...CLEAN_JOB, attempts: 3, maxAttempts: 3 }],
  },
  {
    fault: 'a job that never ended',
    rule: 'not_final',
    calls: CLEAN_CALLS.slice(0, 5),
    finals: [{ ...CLEAN_JOB, state: 'running', events: CLEAN_EVENTS.slice(0, -1) }],
  },
];

for (const { fault, rule, calls = CLEAN_CALLS, finals = [CLEAN_JOB] } of PLANTED) {
  test(`the checker names ${fault} as ${rule}`, () => {
    const rules = check(calls, finals).map((violation) => violation.rule);
    assert.ok(rules.includes(rule), `found only: ${rules.join(', ') || 'nothing'}`);
  });
}

function call(
  facts: Omit<Call, 'outcome' | 'invokedMs' | 'endedMs'> & Partial<Call>,
  invokedMs: number,
): Call {
  return { outcome: 'ok', invokedMs, endedMs: invokedMs + 5, ...facts };
}

function replaced(calls: readonly Call[], index: number, facts: Partial<Call>): Call[] {
  return calls.map((one, place) => (place === index ? { ...one, ...facts } : one));
}

function events(...kinds: string[]): FinalEvent[] {
  return kinds.map((kind, index) => ({ seq: index + 1, timeMs: index, kind }));
}

function fresh(facts: { id: string; key: string }): FinalJob {
  return { ...facts, state: 'dead', attempts: 0, maxAttempts: 1, events: events('created', 'dead') };
}
