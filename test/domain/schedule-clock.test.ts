import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schedule, ScheduleSpec } from '../../src/domain/schedule.ts';
import { clockOf, isUsedUp, nextTick, overBecause, ticksOf } from '../../src/domain/schedule-clock.ts';
import { completeSchedule } from '../../src/domain/schedule-draft.ts';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const HOUR = 3_600_000;
const FACTS = { now: NOW, shellAllowed: false, gateways: ['main'] };

function specOf(draft: Record<string, unknown>, base: ScheduleSpec | null = null): ScheduleSpec {
  const made = completeSchedule({ name: 'x', session_target: 'queue', ...draft }, base, FACTS);
  assert.ok(made.ok, made.ok ? '' : made.problem);
  return made.spec;
}

function problemOf(draft: Record<string, unknown>): string {
  const made = completeSchedule({ name: 'x', session_target: 'queue', ...draft }, null, FACTS);
  return made.ok ? 'accepted' : `${made.field}: ${made.problem}`;
}

const scheduleOf = (draft: Record<string, unknown>, id = 'a', runCount = 0): Schedule =>
  ({ id, spec: specOf(draft), createdAt: NOW, runCount }) as Schedule;

function ticks(schedule: Schedule, count: number): string[] {
  const clock = clockOf(schedule);
  assert.ok(clock);
  return ticksOf(clock, NOW, Infinity, count).ticks.map((at) => new Date(at).toISOString());
}

test('without jitter and without an end the ticks are those of the rule', () => {
  assert.deepEqual(ticks(scheduleOf({ schedule: '0 * * * *' }), 2), [
    '2026-11-16T13:00:00.000Z',
    '2026-11-16T14:00:00.000Z',
  ]);
});

test('jitter delays all ticks of a schedule by the same time, and schedules by different ones', () => {
  const delays = new Set<number>();
  for (let i = 0; i < 200; i++) {
    const clock = clockOf(scheduleOf({ schedule: '0 * * * *', jitter_s: 600 }, `schedule-${i}`));
    assert.ok(clock);
    const found = ticksOf(clock, NOW, NOW + 5 * HOUR, 10).ticks;
    const [first = 0] = found;
    const delay = first % HOUR;
    assert.ok(delay >= 0 && delay <= 600_000);
    assert.deepEqual(
      found.map((at) => at % HOUR),
      found.map(() => delay),
    );
    // A tick that is under way is not skipped because it comes later.
    assert.equal(nextTick(clock, first - 1), first);
    delays.add(delay);
  }
  assert.ok(delays.size > 100, String(delays.size));
});

test('the last tick is the last one that is due by the end, and its jitter may carry it beyond', () => {
  const until = '2026-11-16T15:00:00Z';
  assert.equal(ticks(scheduleOf({ schedule: '0 * * * *', until }), 9).length, 3);
  const late = ticks(scheduleOf({ schedule: '0 * * * *', until, jitter_s: 600 }), 9).at(-1) ?? '';
  assert.ok(late >= until && late < '2026-11-16T15:10:01', late);
  assert.deepEqual(ticks(scheduleOf({ schedule: '0 * * * *', until: '2026-11-16T12:30:00Z' }), 9), []);
});

test('a schedule is over when its runs are used up or its end has passed, and says which', () => {
  const three = scheduleOf({ schedule: '0 * * * *', max_runs: 3 }, 'a', 2);
  assert.equal(isUsedUp(three), false);
  assert.equal(overBecause(three, NOW), null);
  assert.match(overBecause({ ...three, runCount: 3 }, NOW) ?? '', /3 times, and max_runs is 3/);
  const ended = scheduleOf({ schedule: '0 * * * *', until: '2026-11-16T15:00:00Z' });
  assert.equal(overBecause(ended, NOW), null);
  assert.match(overBecause(ended, NOW + 3 * HOUR) ?? '', /ends_at has passed/);
});

test('an end, a number of runs and jitter go with a rule that repeats, and a number of runs with a child', () => {
  const at = { at: '2026-12-01T00:00:00Z' };
  assert.match(problemOf({ ...at, until: '2026-12-02T00:00:00Z' }), /^ends_at: ends_at may not stand beside/);
  assert.match(problemOf({ ...at, max_runs: 2 }), /^max_runs: /);
  assert.match(problemOf({ schedule_kind: 'manual', jitter_s: 5 }), /^jitter_s: /);
  assert.match(problemOf({ parent_id: 'p', trigger_on: 'success', jitter_s: 5 }), /^jitter_s: /);
  assert.equal(specOf({ parent_id: 'p', trigger_on: 'success', max_runs: 2 }).maxRuns, 2);
  assert.equal(specOf({ schedule_kind: 'manual', jitter_s: 0 }).jitterS, 0);
});

test('an end in the past is refused, unless it is the one that the schedule has', () => {
  assert.match(
    problemOf({ schedule: '@daily', until: '2020-01-01T00:00:00Z' }),
    /ends_at .* lies in the past/,
  );
  assert.match(
    problemOf({ every: '1h', at: '2027-01-01T00:00:00Z', until: '2026-12-01T00:00:00Z' }),
    /before its first time/,
  );
  const base = { ...specOf({ schedule: '@daily' }), endsAt: Date.parse('2020-01-01T00:00:00Z') };
  assert.equal(specOf({ schedule: '@daily', until: '2020-01-01T00:00:00Z' }, base).endsAt, base.endsAt);
});

test('another rule keeps the end, the number of runs and the jitter', () => {
  const base = specOf({ schedule: '@daily', until: '2027-01-01T00:00:00Z', max_runs: 9, jitter_s: 7 });
  const { endsAt, maxRuns, jitterS, scheduleKind } = specOf({ every: '1h' }, base);
  assert.deepEqual([scheduleKind, endsAt, maxRuns, jitterS], ['every', base.endsAt, 9, 7]);
  assert.deepEqual(specOf({ schedule_kind: 'manual' }, base).maxRuns, null);
});
