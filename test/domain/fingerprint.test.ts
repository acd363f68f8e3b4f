import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fingerprintOf, foldedFailure } from '../../src/domain/fingerprint.ts';

const FOLDED: readonly (readonly [text: string, folded: string])[] = [
  ['Arctic Shift API returned 429 after 50 calls', 'arctic shift api returned <n> after <n> calls'],
  ['took 3.5s, 12ms and 40%', 'took <n>s, <n>ms and <n>%'],
  ['job 01932f1a-5c4e-7b1a-9f00-0123456789ab failed', 'job <id> failed'],
  ['commit deadbeef12 is missing', 'commit <id> is missing'],
  ['at 2026-02-10T14:30:00Z and 14:30:05', 'at <time> and <time>'],
  ['on 2026-02-10 14:30:00.123 +02:00', 'on <time>'],
  ['cannot open /var/data/7/posts.json', 'cannot open <path>'],
  ["ENOENT: './a/b/c.txt'", "enoent: '<path>'"],
  ['C:\\Users\\bot\\x.log is locked', '<path> is locked'],
  ['GET https://api.example.org/v1/x?id=7 failed', 'get <url> failed'],
  ['mail to anna.b@example.org bounced', 'mail to <email> bounced'],
  ['key sk_live_51Habcdefghijkl2 was refused', 'key <id> was refused'],
  ['\u001b[31mError:\u001b[0m   many\n  spaces', 'error: many spaces'],
  ['issue #42, row -7', 'issue <n>, row <n>'],
  ['0xdeadbeef', '<id>'],
  ['No posts found for ticker XYZZ', 'no posts found for ticker xyzz'],
  ['either/or stays, and so do words', 'either/or stays, and so do words'],
  ['', ''],
];

test('failures that differ in numbers, ids, times, paths and addresses alone are the same', () => {
  for (const [text, folded] of FOLDED) assert.equal(foldedFailure(text), folded, text);
});

test('a fingerprint is short, the same for the same, and another one for another type or text', () => {
  const one = fingerprintOf(3, 'returned 429 after 50 calls');
  assert.match(one, /^[0-9a-z]+-[0-9a-f]{16}$/);
  assert.equal(fingerprintOf(3, 'returned 429  after 51 calls'), one);
  assert.notEqual(fingerprintOf(4, 'returned 429 after 50 calls'), one);
  assert.notEqual(
    fingerprintOf(3, 'no posts found for ticker NVDA'),
    fingerprintOf(3, 'no posts found for ticker XYZZ'),
  );
  const many = new Set(
    Array.from({ length: 26 ** 2 }, (_, i) =>
      fingerprintOf(0, `word${String.fromCharCode(97 + (i % 26), 97 + Math.floor(i / 26))}`),
    ),
  );
  assert.equal(many.size, 26 ** 2);
});

test('a text of any length costs no more than its beginning, and none takes long', () => {
  for (const hostile of [
    'a/'.repeat(100_000),
    '1.'.repeat(100_000),
    'a@'.repeat(100_000),
    '2026-'.repeat(50_000),
    'f0'.repeat(90_000),
    '-'.repeat(100_000),
  ]) {
    const began = process.hrtime.bigint();
    assert.ok(foldedFailure(hostile).length <= 300);
    assert.ok(Number(process.hrtime.bigint() - began) < 500e6, hostile.slice(0, 10));
  }
});
