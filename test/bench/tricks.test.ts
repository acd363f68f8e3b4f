import { match, ok, strictEqual, throws } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { allBenches } from '../../bench/benches/all.ts';
import { type Comparison, rowsOf } from '../../bench/comparison.ts';
import { edited, TRICKS, verdictOn } from '../../bench/tricks.ts';

const ROOT = join(import.meta.dirname, '../..');
const size = { jobs: (full: number) => full, ms: (full: number) => full };
const [first] = TRICKS;

function compared(here: number, there: number, problems: readonly string[] = []): Comparison {
  const round = {
    here: { rates: { drain: here }, problem: null },
    there: { rates: { drain: there }, problem: null },
  };
  const rows = rowsOf('Spine', undefined, [round]);
  return { bench: 'embedded-drain', title: 'Drain', unit: 'jobs/s', rows, unknown: [], problems };
}

test('every trick for speed has its place in the sources, once, and rows that it serves', async () => {
  const names = allBenches(size).map(({ name }) => name);
  strictEqual(new Set(TRICKS.map(({ name }) => name)).size, TRICKS.length);
  for (const { name, serves, edits } of TRICKS) {
    ok(serves.length > 0 && serves.every((bench) => names.includes(bench)), name);
    for (const edit of edits) {
      const text = await readFile(join(ROOT, edit.file), 'utf8');
      ok(edited(text, name, edit) !== text, name);
    }
  }
  throws(() => edited('', 'old', { file: 'a.ts', find: 'x', replace: 'y' }), /"old" is stale.*a\.ts/);
});

test('a trick pays when a row is at least 5 % better with it', () => {
  ok(first);
  strictEqual(verdictOn(first, [compared(104, 100)]).pays, false);
  strictEqual(verdictOn(first, [compared(100, 100), compared(106, 100)]).pays, true);
  match(
    verdictOn(first, [compared(106, 100)]).line,
    /pays, at most 1\.06 .* at embedded-drain: Spine, drain/,
  );
});

test('a trick of which nothing could be measured does not pay', () => {
  ok(first);
  strictEqual(verdictOn(first, []).pays, false);
  match(verdictOn(first, [compared(200, 100, ['a job was lost'])]).line, /not measured; a job was lost/);
});
