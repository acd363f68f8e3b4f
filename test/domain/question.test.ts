import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide } from '../../src/domain/decide.ts';
import { askOf } from '../../src/domain/output.ts';
import { ownPriority, raised } from '../../src/domain/priority.ts';
import type { JobEvent } from '../../src/domain/event.ts';
import {
  blockedOnOf,
  goesOn,
  hasAskedInVain,
  NO_ROOM,
  type QuestionDraft,
  unanswered,
} from '../../src/domain/question.ts';
import { NOTHING_SENT } from '../../src/domain/run.ts';
import { command, HOLDER, jobIn, NOW, SYSTEM, TOKEN } from './fixtures.ts';

const WAITING = { question: 'question-1', waitingFor: 0, questions: 1 };

test('no timer lets in a job that waits for an answer', () => {
  const waiting = jobIn('blocked', WAITING);
  assert.equal(decide(waiting, command('admit', SYSTEM), NOW).job, waiting);
});

test('a run that asks takes back what was noted of its turn, in the same decision', () => {
  const { writes } = decide(jobIn('running', { scheduleId: 's' }), command('ask', HOLDER), NOW);
  assert.deepEqual(writes?.note, NOTHING_SENT);
  assert.equal(writes?.question?.leaseToken, TOKEN);
  assert.equal(decide(jobIn('running'), command('ask', HOLDER), NOW).writes?.note, undefined);
});

test('no time limit runs while a job waits, and the next claim has all of it', () => {
  const timed = jobIn('running', { timeoutMs: 1_000, timeoutAt: NOW + 1 });
  const asked = decide(timed, command('ask', HOLDER), NOW).job;
  assert.equal(asked.timeoutAt, null);
  const later = NOW + 3_600_000;
  const claimed = decide(goesOn(asked, later), command('claim', HOLDER), later).job;
  assert.equal(claimed.timeoutAt, later + 1_000);
});

test('shows what it waits for, and no pool while that is an answer', () => {
  assert.equal(blockedOnOf(jobIn('blocked', WAITING)), 'answer');
  assert.equal(blockedOnOf(jobIn('blocked', { blockedOn: 'gpu' })), 'gpu');
});

test('a raised priority is above all others, keeps its order and is given back', () => {
  for (const priority of [-1_000_000, -1, 0, 7, 1_000_000]) {
    assert.ok(raised(priority) > 1_000_000);
    assert.equal(raised(raised(priority)), raised(priority));
    assert.equal(ownPriority(raised(priority)), priority);
    assert.equal(ownPriority(priority), priority);
  }
  const waiting = jobIn('blocked', { ...WAITING, priority: 3 });
  const cancelled = decide(goesOn(waiting, NOW), command('cancel', HOLDER), NOW).job;
  assert.equal(cancelled.priority, 3);
});

test('a lineage that nobody answered goes on with a new job', () => {
  const job = jobIn('blocked', { ...WAITING, retryMode: 'lineage', retryMax: 1, maxAttempts: 1 });
  const { job: next, events } = unanswered(job, { id: 'question-1', text: 'Which?' }, NOW);
  assert.deepEqual([next.state, next.cause, next.retryAt], ['failed', 'timeout', NOW]);
  assert.equal(events[0]?.kind, 'job.timeout');
});

test('only a whole reply that begins with ASK and one name is a question', () => {
  assert.deepEqual(askOf('\n ASK @ops: Which?\nOne or two. \n'), {
    to: '@ops',
    question: 'Which?\nOne or two.',
  });
  assert.deepEqual(askOf('ASK ada.l: x'), { to: 'ada.l', question: 'x' });
  for (const text of [
    'ASK',
    'ASK @ops',
    'ASK : x',
    'ASK a b: x',
    'ask @ops: x',
    'ASK\n@ops: x',
    'Please ASK a: x',
  ])
    assert.equal(askOf(text), null, text);
});

test('work that finds no room asks twelve times, and no longer than it would have waited for its answer', () => {
  const put = (at: number) =>
    ({ jobNo: 1, seq: at, at, by: 'w', kind: 'job.snoozed', facts: { why: NO_ROOM } }) as const;
  const elsewhere = { ...put(0), facts: { runAt: 1 } };
  const draft = (timeoutMs: number) => ({ timeoutMs }) as QuestionDraft;
  const times = (n: number) => Array.from({ length: n }, (_, i) => put(i));
  const isEnough = (events: readonly JobEvent[], timeoutMs = 1_000): boolean =>
    hasAskedInVain(events, draft(timeoutMs), 100);
  assert.equal(isEnough([]), false);
  assert.equal(isEnough(times(10)), false);
  assert.equal(isEnough(times(11)), true);
  assert.equal(isEnough([...times(5), elsewhere, ...times(5)]), false, 'what was put off for another reason');
  assert.equal(isEnough([...times(11), { ...put(50), kind: 'job.asked', facts: null }, put(60)]), false);
  assert.equal(isEnough([put(40)], 60), true);
  assert.equal(isEnough([put(41)], 60), false);
});
