import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clean, jsonText } from '../../src/cli/text/clean.ts';
import { render, styled } from '../../src/cli/text/line.ts';
import { table } from '../../src/cli/text/table.ts';
import { duration, parseDuration, parseTime, relative } from '../../src/cli/text/times.ts';
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

test('lengths of time are told as people say them, rounded, in words that can be typed', () => {
  const told = (
    [
      [640, '640ms'],
      [999.7, '1s'],
      [1_400, '1s'],
      [59_700, '1m'],
      [61_000, '1m1s'],
      [90_000, '1m30s'],
      [119_700, '2m'],
      [299_900, '5m'],
      [3_599_000, '1h'],
      [5_400_000, '1h30m'],
      [5 * 3_600_000 + 1_800_000, '6h'],
      [23.8 * 3_600_000, '1d'],
      [36 * 3_600_000, '1d12h'],
      [13 * 86_400_000, '13d'],
    ] as const
  ).map(([ms, words]) => [duration(ms), words, parseDuration(duration(ms)) !== null]);
  for (const [said, words, readable] of told) assert.deepEqual([said, readable], [words, true]);
});

test('durations are read with their units, bare ones as seconds', () => {
  const read: Readonly<Record<string, number | null>> = {
    '500ms': 500,
    '30': 30_000,
    '1.5s': 1_500,
    '90s': 90_000,
    '1h30m': 5_400_000,
    '1d 12h': 129_600_000,
    '2w': 1_209_600_000,
    soon: null,
    '-1s': null,
    '1h30': null,
    '': null,
  };
  for (const [text, ms] of Object.entries(read)) assert.equal(parseDuration(text), ms, text);
});

test('times are read with a zone or without, and made the same for every reader', () => {
  const read: Readonly<Record<string, string | null>> = {
    '2026-12-01T09:00': '2026-12-01T09:00',
    '2026-12-01 09:00:30': '2026-12-01T09:00:30',
    '2026-12-01T09:00z': '2026-12-01T09:00Z',
    '2026-12-01T09:00+0200': '2026-12-01T09:00+02:00',
    '2026-12-01T09:00-05': '2026-12-01T09:00-05:00',
    '2026-12-01': '2026-12-01T00:00',
    '2026-02-31': null,
    '2026-12-01T25:00': null,
    tomorrow: null,
    '1': null,
  };
  for (const [text, iso] of Object.entries(read)) assert.equal(parseTime(text), iso, text);
});
