import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completeSchedule } from '../../src/domain/schedule-draft.ts';
import { scheduleInWords } from '../../src/domain/schedule-words.ts';

const NOW = Date.parse('2026-11-16T12:00:00Z');

function words(draft: Record<string, unknown>, parent: string | null = null): string {
  const facts = { now: NOW, shellAllowed: false, gateways: ['main'] };
  const made = completeSchedule({ name: 'x', session_target: 'queue', ...draft }, null, facts);
  assert.ok(made.ok, made.ok ? '' : made.problem);
  return scheduleInWords({ spec: made.spec, createdAt: NOW }, parent);
}

const child = (on: string, rest: object = {}) => ({ parent_id: 'p', trigger_on: on, ...rest });

test('a child says after whom it comes, at which end, and on what condition [SC-35 SC-36 SC-37]', () => {
  assert.equal(
    words(child('success', { trigger_condition: 'contains:ALERT' }), 'nightly build'),
    'After “nightly build” succeeds, when its output contains ALERT',
  );
  assert.equal(words(child('failure'), 'build'), 'After “build” fails');
  assert.equal(words(child('complete', { trigger_delay_s: 60 }), 'build'), 'After “build” ends, 60 s later');
  assert.equal(
    words(child('success', { trigger_condition: 'regex:^OK' })),
    'After its parent succeeds, when its output matches ^OK',
  );
});

test('a long condition is cut', () => {
  const text = words(child('success', { trigger_condition: `contains:${'x'.repeat(500)}` }), 'b');
  assert.ok(text.endsWith('…') && text.length < 150, text);
});

test('what limits a rule follows it', () => {
  const limited = { schedule: '@daily', jitter_s: 30, until: '2027-01-01T00:00:00Z', max_runs: 3 };
  assert.equal(
    words(limited),
    'Every day at 00:00 UTC, up to 30 s later, until 2027-01-01T00:00:00Z, at most 3 times',
  );
  assert.equal(words({ every: '1h', max_runs: 1 }), 'Every hour, once');
  assert.equal(words({ schedule_kind: 'manual' }), 'Only by hand');
});
