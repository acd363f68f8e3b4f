import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { rawOutput, sentinelOf, summaryOf } from '../../src/domain/output.ts';

const plain = (text: string) => ({ text, exitCode: null, stderr: null });

test('a result that is text, or has text, is that text [SC-13]', () => {
  assert.deepEqual(rawOutput('"XYZ"', null), plain('XYZ'));
  assert.deepEqual(rawOutput('{"text":"XYZ","usage":{"total":3}}', null), plain('XYZ'));
  assert.deepEqual(rawOutput('{"answer":42}', null), plain('{"answer":42}'));
  assert.deepEqual(rawOutput('[1, 2]', null), plain('[1,2]'));
  assert.deepEqual(rawOutput('false', null), plain('false'));
  assert.deepEqual(rawOutput('not json', null), plain('not json'));
});

test('of a command the raw stdout is seen, with its exit code and stderr beside it [SC-37]', () => {
  const result = JSON.stringify({ stdout: 'OK\n', stderr: 'warned', exitCode: 0 });
  assert.deepEqual(rawOutput(result, null), { text: 'OK\n', exitCode: 0, stderr: 'warned' });
  assert.deepEqual(rawOutput('{"stdout":"","exitCode":0}', null), { text: '', exitCode: 0, stderr: null });
});

test('without a result the error speaks', () => {
  assert.deepEqual(rawOutput(null, '"it broke"'), plain('it broke'));
  assert.deepEqual(rawOutput(null, '{"message":"it broke","code":"x"}'), plain('it broke'));
  const failed = { message: 'exit code 3', stdout: 'ALERT', stderr: 'e', exitCode: 3 };
  assert.deepEqual(rawOutput(null, JSON.stringify(failed)), { text: 'ALERT', exitCode: 3, stderr: 'e' });
  const silent = { ...failed, stdout: '' };
  assert.deepEqual(rawOutput(null, JSON.stringify(silent)), {
    text: 'exit code 3',
    exitCode: 3,
    stderr: 'e',
  });
  assert.deepEqual(rawOutput('null', '"it broke"'), plain('it broke'));
  assert.deepEqual(rawOutput(null, null), plain(''));
});

test('a summary is the first lines that say something', () => {
  assert.equal(summaryOf('\n\n-----\n  All good.  \n\n```\nTwo warnings.\n'), 'All good. Two warnings.');
  assert.equal(summaryOf('\u001b[31mred\u001b[0m\u0007 alert'), 'red alert');
  assert.equal(summaryOf('---'), '---');
  assert.equal(summaryOf(' \n '), '');
  assert.equal(summaryOf('x'.repeat(600)), `${'x'.repeat(499)}…`);
});

test('a summary is short, printable and whole for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 700 }), (text) => {
      const summary = summaryOf(text.repeat(2));
      assert.ok(summary.length <= 500 && summary.isWellFormed() && !/\p{Cc}/u.test(summary));
    }),
  );
});

test('an agreed word counts at the start, before an end, a space or a colon', () => {
  assert.equal(sentinelOf('HEARTBEAT_OK'), 'HEARTBEAT_OK');
  assert.equal(sentinelOf('  HEARTBEAT_OK all quiet'), 'HEARTBEAT_OK');
  assert.equal(sentinelOf('TASK_FAILED: no disk'), 'TASK_FAILED');
  assert.equal(sentinelOf('IDEMPOTENT_SKIP\nseen before'), 'IDEMPOTENT_SKIP');
  for (const text of ['HEARTBEAT_OKAY', 'all TASK_FAILED', 'task_failed', '', 'TASK_FAILED_ONCE'])
    assert.equal(sentinelOf(text), null, text);
});

test('NO_FLUSH counts only when it is the whole reply', () => {
  assert.equal(sentinelOf('NO_FLUSH'), 'NO_FLUSH');
  assert.equal(sentinelOf('NO_FLUSH \n'), 'NO_FLUSH');
  assert.equal(sentinelOf('NO_FLUSH but'), null);
  assert.equal(sentinelOf('NO_FLUSH: foo'), null);
});
