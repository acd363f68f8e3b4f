import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clean, jsonText } from '../../src/cli/text/clean.ts';
import { render, styled } from '../../src/cli/text/line.ts';
import { table } from '../../src/cli/text/table.ts';
import { parseDuration, relative } from '../../src/cli/text/times.ts';
import { cut, widthOf } from '../../src/cli/text/width.ts';
import { steersTerminal } from './support.ts';

test('what could steer a terminal is shown instead of sent', () => {
  assert.equal(clean('\x1b]0;owned\x07'), '\\x1b]0;owned\\x07');
  assert.equal(clean('a\nb\tc\rd'), 'a\\nb\\tc\\rd');
  assert.equal(clean('\u009b31m\u007f'), '\\x9b31m\\x7f');
  assert.equal(clean('\u202egnp.exe\u2066'), '\\u{202e}gnp.exe\\u{2066}');
  assert.equal(clean('\u{e0041}\ud800'), '\\u{e0041}\\u{d800}');
  assert.equal(clean('Ådå 日本 👩‍🚀 é'), 'Ådå 日本 👩‍🚀 é');
});

test('JSON for the eye is the same JSON', () => {
  const value = { title: '\x1b[2J\u009b\u202e\u{e0041}\ud800 日本', nested: ['\u007f'] };
  const text = jsonText(value, 2);
  assert.ok(!steersTerminal(text));
  assert.deepEqual(JSON.parse(text), value);
});

test('styles are only put around cleaned text, and only where colours are wanted', () => {
  assert.equal(render(['a ', styled('red', 'b\x1b[0m')], true), 'a \x1b[31mb\\x1b[0m\x1b[39m');
  assert.equal(render(['a ', styled('red', 'b')], false), 'a b');
});

test('wide characters take two columns, marks none', () => {
  assert.equal(widthOf('日本'), 4);
  assert.equal(widthOf('é'), 1);
  assert.equal(cut('日本語', 5), '日本…');
  assert.equal(cut('abcdef', 4), 'abc…');
});

test('a table is aligned and gives up the width of its text first', () => {
  const columns = [{ head: 'job', right: true }, { head: 'what', gives: true }, { head: 'by' }];
  const rows = [
    ['#1', 'A long description of work', 'left-claw'],
    ['#12', '日本', 'x'],
  ];
  const lines = (width: number): string[] => table(columns, rows, width).map((line) => render(line, false));
  assert.deepEqual(lines(Infinity), [
    'job  what                        by',
    ' #1  A long description of work  left-claw',
    '#12  日本                        x',
  ]);
  assert.deepEqual(lines(30), [
    'job  what            by',
    ' #1  A long descri…  left-claw',
    '#12  日本            x',
  ]);
});

test('an escaped control character does not break the columns', () => {
  const lines = table(
    [{ head: 'a' }, { head: 'b' }],
    [
      ['\x1b', 'x'],
      ['y', 'z'],
    ],
    80,
  ).map((line) => render(line, false));
  assert.deepEqual(lines, ['a     b', '\\x1b  x', 'y     z']);
});

test('times are told from now', () => {
  const now = Date.parse('2026-01-02T00:00:00Z');
  assert.equal(relative('2026-01-01T23:59:59.500Z', now), 'now');
  assert.equal(relative('2026-01-01T23:59:48Z', now), '12s ago');
  assert.equal(relative('2026-01-02T02:00:00Z', now), 'in 2h');
  assert.equal(relative('2025-12-30T00:00:00Z', now), '3d ago');
  assert.equal(relative(null, now), '-');
});

test('durations are read with their unit, bare ones as seconds', () => {
  assert.deepEqual(['500ms', '30', '1.5s', '10m', '2h', '1d', 'soon', '-1s', ''].map(parseDuration), [
    500,
    30_000,
    1_500,
    600_000,
    7_200_000,
    86_400_000,
    null,
    null,
    null,
  ]);
});
