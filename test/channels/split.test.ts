import assert from 'node:assert/strict';
import { test } from 'node:test';
import { split } from '../../src/channels/split.ts';

test('a text that fits stays whole', () => {
  assert.deepEqual(split('a\n\nb', 10), ['a\n\nb']);
});

test('a long text is cut between paragraphs, else lines, sentences, words, and never loses a word', () => {
  assert.deepEqual(split('one two\n\nthree four', 12), ['one two', 'three four']);
  assert.deepEqual(split('one two\nthree four', 12), ['one two', 'three four']);
  assert.deepEqual(split('It is so. Not so', 12), ['It is so.', 'Not so']);
  assert.deepEqual(split('aaaa bbbb cccc', 10), ['aaaa bbbb', 'cccc']);
  const long = Array.from({ length: 5_000 }, (_, i) => `word${i}`).join(' ');
  const parts = split(long, 4_096);
  assert.equal(parts.join(' '), long);
  assert.ok(parts.every((part) => part.length <= 4_096));
});

test('a text without a place to cut is cut between characters', () => {
  const parts = split('😀'.repeat(5_000), 4_095);
  assert.equal(parts.join(''), '😀'.repeat(5_000));
  assert.ok(parts.every((part) => part.length <= 4_095 && part.isWellFormed()));
});

test('what a character costs may be more than its length', () => {
  const parts = split('&'.repeat(10), 20, (char) => (char === '&' ? 5 : 1));
  assert.deepEqual(parts, ['&&&&', '&&&&', '&&']);
});

test('a text of nothing but spaces is one message, not none', () => {
  assert.equal(split(' \n ', 10).length, 1);
});
