import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitAfter, limitIn } from '../../src/domain/provider-limit.ts';

const NOW = Date.parse('2026-05-04T12:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long it lasts; null when nobody said, and undefined when there is none. */
function lasting(error: unknown): number | null | undefined {
  const limit = limitIn(error === null ? null : JSON.stringify(error), NOW);
  return limit === null ? undefined : limit.untilAt === null ? null : limit.untilAt - NOW;
}

test('a limit is told from other failures by its words', () => {
  for (const error of [
    'HTTP 429',
    'status code 429',
    'API returned 429 after 50 calls',
    { error: { code: 429, message: 'slow down' } },
    '429 Too Many Requests',
    'rate_limit_error: this request would exceed it',
    'Rate limit reached for requests',
    'Claude AI usage limit reached',
    'You exceeded your current quota, please check your plan',
    { status: 'RESOURCE_EXHAUSTED' },
  ])
    assert.equal(lasting(error), null, JSON.stringify(error));
  for (const error of [
    null,
    'HTTP 500',
    'page 429 of 1000 could not be read',
    'got 4290 rows',
    'retry after 30 s',
    'the limit of the loop is 3',
    { code: 42 },
  ])
    assert.equal(lasting(error), undefined, JSON.stringify(error));
});

test('when it is over is read in the words of the providers', () => {
  const cases: readonly (readonly [unknown, number])[] = [
    ['429 Too Many Requests. Retry-After: 30', 30_000],
    ['429 Too Many Requests, retry after 1.5 minutes', 90_000],
    [{ error: 'rate_limit', retry_after: 20 }, 20_000],
    [{ error: 'rate_limit', retryAfterMs: 1_500 }, 1_500],
    [{ error: 'rate limit', retry_after_seconds: 7 }, 7_000],
    ['Rate limit reached. Please try again in 6m0s.', 6 * MINUTE_MS],
    ['Rate limit reached. Please try again in 1h2m3s', HOUR_MS + 2 * MINUTE_MS + 3_000],
    ['Rate limit reached. Please try again in 850ms.', 850],
    ['usage limit reached, resets in 2 hours', 2 * HOUR_MS],
    [`Claude AI usage limit reached|${(NOW + 90_000) / 1_000}`, 90_000],
    [{ error: 'rate limit', resetAt: NOW + 5_000 }, 5_000],
    ['HTTP 429, the limit resets at 2026-05-04T12:10:00Z', 10 * MINUTE_MS],
    ['HTTP 429, the limit resets at 2026-05-04T14:10:00+02:00', 10 * MINUTE_MS],
    ['HTTP 429, X-RateLimit-Reset: 2026-05-04 12:00:30', 30_000],
  ];
  for (const [error, ms] of cases) assert.equal(lasting(error), ms, JSON.stringify(error));
});

test('reading a long error takes no time', () => {
  const startedMs = performance.now();
  for (const part of ['reset ', 'retry after ', '1h ', 'http ', '"" ', '4 2 9 ']) {
    lasting(part.repeat(200_000));
    lasting(`429 too many requests ${part.repeat(200_000)}`);
  }
  assert.ok(performance.now() - startedMs < 2_000);
});

test('where nobody says how long, a limit soon after the last one lasts twice as long, up to an hour', () => {
  let record = { provider: 'p', untilAt: 0, strikes: 0 };
  const waits: number[] = [];
  for (let now = NOW, i = 0; i < 8; i++) {
    record = limitAfter(record, null, now);
    waits.push((record.untilAt - now) / MINUTE_MS);
    now = record.untilAt;
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
  const later = record.untilAt + HOUR_MS;
  assert.deepEqual(limitAfter(record, null, later), {
    provider: 'p',
    untilAt: later + MINUTE_MS,
    strikes: 1,
  });
});

test('while a limit lasts only a later end counts, and none is longer than a day', () => {
  const first = limitAfter({ provider: 'p', untilAt: 0, strikes: 0 }, NOW + 10_000, NOW);
  assert.deepEqual(first, { provider: 'p', untilAt: NOW + 10_000, strikes: 1 });
  assert.deepEqual(limitAfter(first, null, NOW + 1), first);
  assert.deepEqual(limitAfter(first, NOW + 5_000, NOW + 1), first);
  assert.equal(limitAfter(first, NOW + 20_000, NOW + 1).untilAt, NOW + 20_000);
  assert.equal(limitAfter(first, NOW + 1e12, NOW + 1).untilAt, NOW + 1 + 24 * HOUR_MS);
});

test('a time that is over already says nothing, and a short one that is said again and again lasts longer', () => {
  const waits = (said: (now: number) => number): number[] => {
    let record = { provider: 'p', untilAt: 0, strikes: 0 };
    let now = NOW;
    return Array.from({ length: 8 }, () => {
      record = limitAfter(record, said(now), now);
      const waited = record.untilAt - now;
      now = record.untilAt;
      return waited / 1_000;
    });
  };
  assert.deepEqual(waits(() => Date.parse('2020-01-01T00:00:00Z')).slice(0, 3), [60, 120, 240]);
  assert.deepEqual(
    waits((now) => now),
    [60, 120, 240, 480, 960, 1_920, 3_600, 3_600],
  );
  assert.deepEqual(
    waits((now) => now + 850),
    [1, 2, 4, 8, 16, 32, 60, 60],
  );
  assert.deepEqual(
    waits((now) => now + 90_000),
    Array.from({ length: 8 }, () => 90),
  );
});
