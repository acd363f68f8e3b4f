import { strictEqual } from 'node:assert';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { iso } from '../../src/http/iso.ts';

suite('a time as text', () => {
  test('shows every time as Date does', () => {
    const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
    const anyTime = fc.integer({ min: -1_000, max: lastMs });
    fc.assert(
      fc.property(anyTime, (ms) => strictEqual(iso(ms), new Date(ms).toISOString())),
      { numRuns: 2_000 },
    );
  });

  test('keeps times apart that share a place in its memory', () => {
    const seconds = [0, 64, 128, 64, 0];
    for (const s of seconds) strictEqual(iso(s * 1_000 + 7), new Date(s * 1_000 + 7).toISOString());
    for (const ms of [7, 71, 135, 71, 7]) strictEqual(iso(ms), new Date(ms).toISOString());
  });
});
