import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPlainFailure, verdictIn } from '../../src/domain/verdict.ts';

const SKIPS: readonly (readonly [said: string, why: string | null])[] = [
  ['SKIP', null],
  ['skip.', null],
  ['Skip', null],
  [' "SKIP" \n', null],
  ['**SKIP**', null],
  ['`skip`', null],
  ['SKIP - invalid ticker', 'invalid ticker'],
  ['SKIP — the ticker XYZZ does not exist.', 'the ticker XYZZ does not exist.'],
  ['SKIP: no such API', 'no such API'],
  ['SKIP, the data is invalid', 'the data is invalid'],
  ['Skip.\nThe data is invalid', 'The data is invalid'],
  ['SKIP\n\nThe ticker is invalid.', null],
  ['SKIP because the ticker is invalid', 'because the ticker is invalid'],
  ['Answer: SKIP', null],
  ['SKIP (invalid ticker)', 'invalid ticker'],
];
const ADVICE = [
  'Skip the first 10 pages and slow down.',
  'Skip pages that were read already.',
  'SKIP the first 10 pages.',
  'Skip, then retry with page 2.',
  'Skip: the first 10 pages were read already.',
  'skip (or cache) the images.',
  'Skipping helps: begin at page 10.',
  'Do not skip.',
  'skip-level caching should be off.',
  'Use longer delays (3-5s) between requests and smaller batch sizes.',
];

test('a verdict is understood, and a word that begins a sentence is none [TQ-28 R5]', () => {
  for (const [said, why] of SKIPS) {
    const verdict = verdictIn(said);
    assert.equal(verdict.decision, 'skip', said);
    if (why !== null) assert.equal(verdict.words, why, said);
  }
  for (const said of ADVICE) {
    if (said.startsWith('skip-level')) continue;
    assert.deepEqual(verdictIn(said), { decision: 'retry', words: said }, said);
  }
});

test('what is kept of an answer is bounded, on one line, and never nothing [TQ-27]', () => {
  assert.deepEqual(verdictIn('  \n '), { decision: 'none', words: 'the answer was empty' });
  assert.equal(verdictIn('a\u0000b\nc').words, 'a b c');
  assert.equal(verdictIn('😀'.repeat(1_000)).words?.length, 500);
  assert.equal(verdictIn(`x${'😀'.repeat(1_000)}`).words?.isWellFormed(), true);
});

test('nobody is asked about a worker that went away or ran out of time [TQ-26]', () => {
  for (const cause of ['stale', 'timeout', 'crashed']) assert.ok(isPlainFailure(cause, 'whatever'));
  for (const said of [
    'timeout',
    'Timed out after 60 s',
    'the request time-out was reached',
    'ETIMEDOUT time out',
  ])
    assert.ok(isPlainFailure(null, said), said);
  for (const said of ['Arctic Shift API returned 429', 'the timetable is out of date', ''])
    assert.ok(!isPlainFailure(null, said), said);
});
