import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { turnAt } from '../../src/backup/rereading.ts';
import { HOUR_MS, NOW } from './support.ts';

const pieces = Array.from({ length: 500 }, (_, i) => ({
  size: 1,
  sha256: createHash('sha256').update(`${i}`).digest('hex'),
}));

function readIn(hours: readonly number[], amount: { count: number; bytes: number }): number {
  const seen = new Set<string>();
  for (const hour of hours) {
    const isDue = turnAt(NOW + hour * HOUR_MS, amount);
    for (const piece of pieces) if (isDue(piece)) seen.add(piece.sha256);
  }
  return seen.size;
}

const hours = (n: number): number[] => Array.from({ length: n }, (_, hour) => hour);

test('few pieces are all read again in every hour, and of many each within a week [SC-75]', () => {
  assert.equal(readIn([0], { count: 500, bytes: 500 }), 500);
  const many = { count: 500, bytes: 1e15 };
  assert.ok(readIn([0], many) < 20);
  // Two weeks: a round may begin in the middle of the first.
  assert.equal(readIn(hours(2 * 7 * 24), many), 500);
});

test('a machine that is on at one hour of the day alone reads every piece again, too [SC-75]', () => {
  const daily = hours(24 * 60).filter((hour) => hour % 24 === 9);
  assert.equal(readIn(daily, { count: 24_000, bytes: 1 }), 500);
});
