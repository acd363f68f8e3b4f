import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byRelevance, wordsOf } from '../../src/domain/relevance.ts';

const ranked = (summaries: readonly string[], ...about: string[]): string[] =>
  byRelevance(
    summaries.map((summary) => ({ summary })),
    wordsOf(about),
  ).map(({ summary }) => summary);

test('a rare word outweighs words that everybody says, however often they say them [SC-63]', () => {
  const usual = Array.from({ length: 8 }, () => 'Report report report: the report is done');
  const told = [...usual, 'The certificate of the mail server expires'];
  assert.equal(ranked(told, 'Write the report; look at the certificate')[0], told[8]);
});

test('a word inside of another one is found, and counts less than the word itself [SC-63]', () => {
  const told = ['We redeployed it', 'We deploy it', 'Nothing happened'];
  assert.deepEqual(ranked(told, 'deploy'), [told[1], told[0]]);
  // Of short words nearly every text would be full.
  assert.deepEqual(ranked(['Concatenate'], 'cat'), []);
});

test('of two that are as good the first stays first, and what has none of the words is left out', () => {
  assert.deepEqual(ranked(['disk full', 'disk empty', 'all well'], 'DISK'), ['disk full', 'disk empty']);
  assert.deepEqual(ranked(['a', 'b'], ''), []);
});

test('words are bounded for each text, so that a long one does not crowd out another', () => {
  const long = Array.from({ length: 5_000 }, (_, i) => `word${i}`).join(' ');
  const words = wordsOf([long, 'certificate']);
  assert.equal(words.length, 25);
  assert.equal(words.at(-1), 'certificate');
  assert.deepEqual(wordsOf(['Grüße, 世界! x', "it's grüße"]), ['grüße', '世界', 'it']);
});
