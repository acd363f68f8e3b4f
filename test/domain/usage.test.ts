import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayStart, lastAt, nextAt, nextDayStart } from '../../src/domain/day.ts';
import { usageIn, usageSaid } from '../../src/domain/usage.ts';

test('what was taken is understood in the words of agents, gateways and models [TQ-48]', () => {
  const cases: readonly (readonly [unknown, readonly number[] | null])[] = [
    [{ usage: { inputTokens: 3, outputTokens: 4, totalTokens: 9 } }, [3, 4, 9, 0]],
    [{ usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } }, [3, 4, 7, 0]],
    [
      { usage: { input_tokens: 3, cache_read_input_tokens: 10, output_tokens: 4 }, costUsd: 0.0125 },
      [13, 4, 17, 12_500],
    ],
    [{ text: 'x', details: { kind: 'k', usage: { input: 1, output: 2, total: null } } }, [1, 2, 3, 0]],
    [{ usage: { total_cost_usd: 1.5 } }, [0, 0, 0, 1_500_000]],
    [{ usage: { inputTokens: -3, outputTokens: 'many', totalTokens: 1e300 } }, null],
    [{ usage: 'much' }, null],
    [{ usage: null, text: '"usage"' }, null],
    ['"usage" of words', null],
  ];
  for (const [said, wanted] of cases) {
    const took = usageIn(JSON.stringify(said));
    const got = took && [took.inputTokens, took.outputTokens, took.totalTokens, took.costMicros];
    assert.deepEqual(got, wanted, JSON.stringify(said));
  }
  assert.equal(usageIn(null), null);
  assert.equal(usageSaid(undefined), null);
});

test('a day begins where its zone says, also when the clock is put forward or back', () => {
  const at = (text: string): number => Date.parse(text);
  const berlin = 'Europe/Berlin';
  assert.equal(dayStart(berlin, at('2026-02-10T22:30:00Z')), at('2026-02-09T23:00:00Z'));
  assert.equal(nextDayStart(berlin, at('2026-02-10T22:30:00Z')), at('2026-02-10T23:00:00Z'));
  // 23 and 25 hours.
  assert.equal(nextDayStart(berlin, at('2026-03-29T10:00:00Z')), at('2026-03-29T22:00:00Z'));
  assert.equal(dayStart(berlin, at('2026-10-25T10:00:00Z')), at('2026-10-24T22:00:00Z'));
  // 02:30 is left out; 02:30 comes twice.
  assert.equal(nextAt(berlin, 150, at('2026-03-29T00:00:00Z')), at('2026-03-29T01:00:00Z'));
  assert.equal(lastAt(berlin, 150, at('2026-10-25T12:00:00Z')), at('2026-10-25T00:30:00Z'));
  assert.equal(lastAt('UTC', 480, at('2026-02-10T07:59:59Z')), at('2026-02-09T08:00:00Z'));
});
