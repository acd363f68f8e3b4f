import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parentsFirst, repeatedNames } from '../../src/domain/apply-order.ts';
import type { ScheduleSpec } from '../../src/domain/schedule.ts';
import { completeSchedule } from '../../src/domain/schedule-draft.ts';
import { fieldChanges, wholeDraft } from '../../src/domain/schedule-replace.ts';

const FACTS = { now: 0, shellAllowed: true, gateways: ['main'] };

function made(draft: Record<string, unknown>, base: ScheduleSpec | null = null): ScheduleSpec {
  const answer = completeSchedule(draft, base, FACTS);
  assert.ok(answer.ok, answer.ok ? '' : answer.problem);
  return answer.spec;
}

const PLAIN = { name: 'x', schedule: '0 2 * * *', payload_message: 'go' };

test('a whole draft over any schedule is the schedule that it would have made', () => {
  const others = [
    made({ name: 'x', every: '1h', session_target: 'queue', params: { a: 1 }, priority: 5, max_runs: 3 }),
    made({ name: 'x', command: 'true', at: 5, run_timeout_ms: 9, resource_pool: 'gpu' }),
    made({ name: 'x', parent_id: 'p', trigger_on: 'failure', payload_message: 'm', max_retries: 3 }),
  ];
  for (const base of others)
    for (const draft of [PLAIN, { name: 'x', command: 'ls', schedule: '@daily' }])
      assert.deepEqual(made(wholeDraft(draft), base), made(draft));
});

test('the mark of who keeps a schedule stays unless it is named', () => {
  const base = made({ ...PLAIN, managed_by: 'apply:ops' });
  assert.equal(made(wholeDraft(PLAIN), base).managedBy, 'apply:ops');
  assert.equal(made(wholeDraft({ ...PLAIN, managed_by: null }), base).managedBy, null);
});

test('what differs is told in the words of the door, and the order of names in params is no difference', () => {
  const before = { spec: made({ ...PLAIN }), enabled: true };
  const after = { spec: made({ ...PLAIN, schedule: '0 3 * * *' }), enabled: false };
  assert.deepEqual(fieldChanges(before, before), []);
  assert.deepEqual(fieldChanges(before, after), [
    { field: 'schedule_cron', from: '0 2 * * *', to: '0 3 * * *' },
    { field: 'enabled', from: true, to: false },
  ]);
  const queue = (params: object) => ({
    spec: made({ name: 'x', every: '1h', session_target: 'queue', params }),
    enabled: true,
  });
  assert.deepEqual(fieldChanges(queue({ a: 1, b: { c: 1, d: 2 } }), queue({ b: { d: 2, c: 1 }, a: 1 })), []);
  assert.equal(fieldChanges(queue({ a: [1, 2] }), queue({ a: [2, 1] }))[0]?.field, 'params');
});

test('parents come before children, and a circle is left out', () => {
  const list = [
    { name: 'c', parent: 'b' },
    { name: 'a', parent: null },
    { name: 'b', parent: 'a' },
    { name: 'lone', parent: 'elsewhere' },
    { name: 'x', parent: 'y' },
    { name: 'y', parent: 'x' },
    { name: 'self', parent: 'self' },
  ];
  assert.deepEqual(
    parentsFirst(list).map((place) => list[place]?.name),
    ['a', 'b', 'c', 'lone'],
  );
});

test('a name that stands twice is found where it stands again', () => {
  assert.deepEqual(repeatedNames([{ name: 'a' }, { name: 'b' }, { name: 'a' }]), [2]);
});
