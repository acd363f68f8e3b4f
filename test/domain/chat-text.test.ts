import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { bold, escaped, unmarked } from '../../src/domain/chat-markup.ts';
import {
  breakerText,
  completedText,
  endText,
  exhaustedText,
  failedText,
  failureReason,
  resultSummary,
  retryText,
  skipText,
  stuckText,
} from '../../src/domain/chat-text.ts';
import type { Job } from '../../src/domain/job.ts';
import { textOfMarkdown } from '../support/telegram-markdown.ts';
import { jobIn } from './fixtures.ts';

const T = 'Reddit Crawl for NVDA';
const NOTHING = { result: null, error: null };

test('the chat is told in the words of the text: completed, failed, used up, stuck [TQ-30]', () => {
  assert.deepEqual(
    [
      completedText(T, 'Nexus', '847 posts.'),
      completedText(T, 'Nexus', ''),
      failedText(T, 'rate limited.', true),
      failedText(T, 'no posts', false),
      exhaustedText(T, 3),
      exhaustedText(T, 0),
      stuckText(T, 'Genesis'),
    ],
    [
      '*Reddit Crawl for NVDA* completed by Nexus. 847 posts.',
      '*Reddit Crawl for NVDA* completed by Nexus.',
      '*Reddit Crawl for NVDA* failed. Reason: rate limited. Retry: yes',
      '*Reddit Crawl for NVDA* failed. Reason: no posts. Retry: no',
      '*Reddit Crawl for NVDA* failed after 3 attempts. Needs human attention.',
      '*Reddit Crawl for NVDA* failed after 1 attempt. Needs human attention.',
      '*Reddit Crawl for NVDA* stuck — Genesis offline. Returning to queue.',
    ],
  );
});

test('a retry says which it is of how many, and a skip and a breaker why [TQ-31]', () => {
  assert.equal(retryText(T, 1, 3), 'Retry 1/3: *Reddit Crawl for NVDA* back in queue.');
  assert.equal(
    skipText('Crawl XYZZ', 'No data found. '),
    '*Crawl XYZZ* will not be retried: No data found. Needs human attention.',
  );
  assert.equal(
    breakerText('reddit_crawl', 3, 'API gone'),
    '*reddit_crawl* paused: 3 jobs in a row failed the same way. Reason: API gone. Resume it when the cause is gone.',
  );
});

test('how a job ended decides what is told; what somebody stopped, or what goes on, is not told [TQ-30]', () => {
  const ended = (state: Job['state'], over: Partial<Job> = {}) =>
    endText(jobIn(state, { claimedBy: 'W1', ...over }), 'T', { result: null, error: '"oops"' });
  assert.equal(ended('done'), '*T* completed by W1.');
  assert.equal(ended('failed'), '*T* failed. Reason: oops. Retry: no');
  assert.equal(ended('failed', { retryAt: 1 }), '*T* failed. Reason: oops. Retry: yes');
  assert.match(ended('failed', { retryAt: 1, cause: 'stale' }) ?? '', /stuck — W1 offline/);
  assert.match(ended('failed', { retryAt: null, cause: 'stale' }) ?? '', /Retry: no/);
  assert.match(ended('dead', { retryMode: 'lineage', retryCount: 3 }) ?? '', /after 3 attempts/);
  assert.match(ended('dead', { attempts: 5 }) ?? '', /after 5 attempts/);
  for (const state of ['cancelled', 'skipped', 'queued', 'running', 'blocked'] as const)
    assert.equal(ended(state), null, state);
});

test('what came of it is told in words where there are any, else field by field', () => {
  const cases: readonly (readonly [unknown, string])[] = [
    ['847 posts', '847 posts'],
    [{ text: 'all\nfine' }, 'all fine'],
    [{ posts_collected: 847, nested: { a: 1 }, ok: true }, 'posts_collected: 847, ok: true'],
    [{ summary: 'short', more: 1 }, 'short'],
    [[1, 2], '[1,2]'],
    [{}, ''],
  ];
  for (const [result, told] of cases) assert.equal(resultSummary(JSON.stringify(result)), told);
  assert.equal(resultSummary(null), '');
});

test('the reason is what the holder said, in its error or its result, else what Spine knows', () => {
  const reason = (over: Partial<Job>, outcome: Partial<typeof NOTHING> | object) =>
    failureReason(jobIn('failed', over), { ...NOTHING, ...outcome });
  assert.equal(reason({}, { error: '{"message":"429 from API"}' }), '429 from API');
  assert.equal(reason({}, { result: '{"error":"bad ticker"}' }), 'bad ticker');
  assert.equal(reason({ cause: 'timeout' }, {}), 'timeout');
  // Why it was given back before is not why it failed.
  assert.equal(reason({ reason: 'anthropic is at its limit' }, {}), 'none was given');
  assert.equal(reason({}, { result: '[1]' }), 'none was given');
});

const hostile = fc.string({
  unit: fc.constantFrom(...'_*`[]()\\ab \n😀'.split(''), '\ud83d', '```', '\\*', '[x](y)'),
});

test('whatever stands in a title or a value is read as it was written [TQ-30]', () => {
  fc.assert(
    fc.property(hostile, hostile, (title, value) => {
      const text = title.toWellFormed();
      assert.equal(textOfMarkdown(escaped(text)), text);
      assert.equal(textOfMarkdown(bold(text)), text);
      assert.equal(unmarked(`${bold(text)} ${escaped(text)}`), `${text} ${text}`);
      const line = failedText(title, value, true);
      assert.ok(!line.includes('\n') && line.isWellFormed());
      assert.equal(textOfMarkdown(line), unmarked(line));
    }),
  );
});

test('a line stays far below what one message takes, however long its parts are', () => {
  const long = '*'.repeat(50_000);
  for (const line of [failedText(long, long, false), completedText(long, long, long), skipText(long, long)])
    assert.ok(line.length < 2_000, String(line.length));
});
