import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditionMet, conditionProblem } from '../../src/domain/condition.ts';

test('contains: looks for the text as it is written [SC-37] [SC-13]', () => {
  assert.equal(conditionMet('contains:ALERT', 'all is well, no ALERT: really'), true);
  assert.equal(conditionMet('contains:ALERT', 'alert'), false);
  assert.equal(conditionMet('contains: x', 'a x'), true);
  assert.equal(conditionMet('contains:a:b', 'see a:b'), true);
  assert.equal(conditionMet('contains:.*', 'anything'), false);
});

test('regex: looks for the pattern anywhere, and anchors see the output itself [SC-37]', () => {
  assert.equal(conditionMet('regex:^OK', 'OK\n'), true);
  assert.equal(conditionMet('regex:^OK', 'not OK'), false);
  assert.equal(conditionMet('regex:\\d{3} errors?', 'found 404 errors today'), true);
  assert.equal(conditionMet('regex:(?i)alert', 'ALERT'), true);
  assert.equal(conditionMet('regex:(?m)^done$', 'one\ndone\n'), true);
  assert.equal(conditionMet('regex:é+$', 'caféé'), true);
});

test('a pattern that explodes elsewhere is answered at once', () => {
  const bad = `${'a'.repeat(40)}b`;
  conditionMet('regex:(a+)+$', 'warm');
  const started = performance.now();
  assert.equal(conditionMet('regex:(a+)+$', bad), false);
  const tookMs = performance.now() - started;
  // Tried one by one, the ways to read it would take hours.
  assert.ok(tookMs < 2_000, `it took ${tookMs} ms`);
});

test('long output and large patterns have an end', () => {
  const started = performance.now();
  assert.equal(conditionMet('regex:(a+)+$', `${'a'.repeat(5_000_000)}b`), false);
  assert.equal(conditionMet('regex:(a+)+', `${'a'.repeat(5_000_000)}b`), true);
  assert.equal(conditionMet('regex:(?:a?){90}a{90}$', `${'a'.repeat(5_000)}b`), false);
  assert.equal(conditionMet('contains:end', `${'x'.repeat(5_000_000)}end`), false);
  const tookMs = performance.now() - started;
  assert.ok(tookMs < 5_000, `it took ${tookMs} ms`);
});

test('a condition that cannot be used is refused in one sentence [SC-37]', () => {
  const wrong: Readonly<Record<string, RegExp>> = {
    ALERT: /neither/,
    'Contains:x': /neither/,
    '': /neither/,
    'contains:': /nothing after/,
    'regex:': /nothing after/,
    'regex:[': /cannot be used \(missing closing \]/,
    'regex:(?=a)b': /lookaround/,
    'regex:(?<!a)b': /lookaround/,
    'regex:(a)\\1': /back-reference/,
    'regex:(?:a{900}){900}': /too large/,
    [`regex:${'a{1000}'.repeat(100)}`]: /too large/,
    [`contains:${'x'.repeat(1_024)}`]: /longer than 1024/,
  };
  for (const [text, words] of Object.entries(wrong)) {
    const problem = conditionProblem(text);
    assert.match(problem ?? '', words, text);
    assert.match(problem ?? '', /^trigger_condition [^\n]+\.$/, text);
    if (text.length <= 1_024) assert.equal(conditionMet(text, 'aaab'), false, text);
  }
});

test('a condition that can be used is accepted', () => {
  const right = [
    'contains:ALERT',
    'contains: ',
    'regex:^OK',
    'regex:(a+)+$',
    'regex:\\\\1',
    'regex:(?P<n>a)',
  ];
  for (const text of right) assert.equal(conditionProblem(text), null, text);
});
