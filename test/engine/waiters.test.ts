import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Waiters } from '../../src/engine/waiters.ts';
import { FakeClock, rest } from '../support/clock.ts';

function lineUp(count: number, targets: readonly string[] = ['a'], types?: readonly string[]) {
  const clock = new FakeClock();
  const waiters = new Waiters(clock);
  return {
    clock,
    waiters,
    tickets: Array.from({ length: count }, () => waiters.enter({ targets, ...(types && { types }) })),
  };
}

test('a hint wakes as many as there is work for, those who waited longest first', () => {
  const { waiters, tickets } = lineUp(4);
  waiters.wake('a', 2);
  assert.deepEqual(
    tickets.map(({ woken }) => woken),
    [true, true, false, false],
  );
  waiters.wake('a', 1);
  assert.deepEqual(
    tickets.map(({ woken }) => woken),
    [true, true, true, false],
  );
  waiters.wake('b', 9);
  assert.equal(tickets[3]?.woken, false);
});

test('a hint that was not needed goes to the next in line', () => {
  const { waiters, tickets } = lineUp(2);
  const [first, second] = tickets as [(typeof tickets)[0], (typeof tickets)[0]];
  waiters.wake('a', 1);
  waiters.leave(first, first.woken);
  assert.equal(second.woken, true);
  waiters.leave(second, false);
  assert.equal(waiters.size, 0);
});

test('a hint goes to the first of every line: those who can do other things wait in other lines', () => {
  const waiters = new Waiters(new FakeClock());
  const lines = [[], ['gpu'], ['ssh', 'gpu'], ['gpu', 'ssh']].map((capabilities) =>
    waiters.enter({ targets: ['a'], capabilities }),
  );
  waiters.wake('a', 1);
  assert.deepEqual(
    lines.map(({ woken }) => woken),
    [true, true, true, false],
  );
});

test('a hint goes to the first of every line: those who take other types wait in other lines', () => {
  const clock = new FakeClock();
  const waiters = new Waiters(clock);
  const lines = [undefined, ['x'], ['y'], ['x'], ['x', 'y'], ['y', 'x'], undefined].map((types) =>
    waiters.enter({ targets: ['a'], ...(types && { types }) }),
  );
  waiters.wake('a', 1);
  assert.deepEqual(
    lines.map(({ woken }) => woken),
    [true, true, true, false, true, false, false],
  );
  waiters.wakeAll();
  assert.ok(lines.every(({ woken }) => woken));
});

test('a wait ends by a hint, by its time or by its caller, and leaves no timer behind', async () => {
  const { clock, waiters, tickets } = lineUp(3);
  const gone = new AbortController();
  const ended: string[] = [];
  const [hinted, timed, left] = tickets as [(typeof tickets)[0], (typeof tickets)[0], (typeof tickets)[0]];
  void waiters.wait(hinted, 9_000).then(() => ended.push('hint'));
  void waiters.wait(timed, 5_000).then(() => ended.push('time'));
  void waiters.wait(left, 9_000, gone.signal).then(() => ended.push('caller'));
  waiters.wake('a', 1);
  await rest(1);
  await clock.advance(5_000);
  gone.abort();
  await rest(1);
  assert.deepEqual(ended, ['hint', 'time', 'caller']);
  assert.equal(clock.pending, 0);
});

test('a hint that came before the wait is not lost', async () => {
  const { waiters, tickets } = lineUp(1);
  waiters.wake('a', 1);
  await waiters.wait(tickets[0] as (typeof tickets)[0], 9_000);
  assert.equal(tickets[0]?.woken, true);
});
