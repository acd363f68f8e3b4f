import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { ALL } from './all.ts';
import { ROOT } from './copy.ts';
import { type Mutant, planted } from './mutant.ts';
import { selectionsOf } from './tests.ts';

const LEAST = 60;

const mutant: Mutant = {
  name: 'plus-is-minus',
  means: 'sums are wrong',
  file: 'src/sum.ts',
  find: 'a + b',
  replace: '$& a - b',
  seenBy: ['test/a.test.ts'],
};

test('every planted bug still has its one place in the sources, and leaves a program that can be read', () => {
  deepStrictEqual(
    ALL.flatMap((each) => problemWith(each) ?? []),
    [],
  );
});

function problemWith(each: Mutant): string | null {
  try {
    stripTypeScriptTypes(planted(readFileSync(join(ROOT, each.file), 'utf8'), each));
    return null;
  } catch (error) {
    return `${each.name}: ${String(error)}`;
  }
}

test(`at least ${LEAST} bugs are planted, each with a name of its own, what it means and who sees it`, () => {
  ok(ALL.length >= LEAST, `${ALL.length} are planted`);
  strictEqual(new Set(ALL.map(({ name }) => name)).size, ALL.length);
  for (const { name, means, find, replace, seenBy } of ALL) {
    ok(/^[a-z0-9-]+$/.test(name), name);
    ok(means.length > 0 && find !== replace && seenBy.length > 0, name);
    for (const file of seenBy) ok(existsSync(join(ROOT, file)), `${name}: ${file}`);
  }
});

/** Each of them once passed every test there was. */
const ONCE_UNSEEN = [
  'lease-token-prefix',
  'unique-key-of-running-holder',
  'other-body-replayed-in-flush',
  'commits-not-synced',
  'run-token-of-an-earlier-attempt',
  'viewer-sees-all-events',
  'ladder-anew-after-timeout',
  'journal-not-synced',
  'stop-without-waiting',
  'client-gone-while-served',
  'notice-never-queued',
  'secrets-compared-by-char',
];

test('the twelve bugs that no test saw at first are planted for good', () => {
  const names = new Set(ALL.map(({ name }) => name));
  deepStrictEqual(
    ONCE_UNSEEN.filter((name) => !names.has(name)),
    [],
  );
});

test('a bug is planted in the one place that it names, as it is written', () => {
  strictEqual(planted('return a + b;', mutant), 'return $& a - b;');
  throws(() => planted('return a;', mutant), /"plus-is-minus" is stale: its text stands 0 times/);
  throws(() => planted('a + b + a + b', mutant), /2 times/);
});

test('without a bug each file runs once, with all that its bugs name of it', () => {
  const one = { ...mutant, only: 'adds' };
  const two = { ...mutant, only: 'subtracts', seenBy: ['test/a.test.ts', 'test/b.test.ts'] };
  deepStrictEqual(selectionsOf([one, two]), [
    { files: ['test/a.test.ts'], only: ['adds', 'subtracts'] },
    { files: ['test/b.test.ts'], only: ['subtracts'] },
  ]);
  deepStrictEqual(selectionsOf([one, mutant]), [{ files: ['test/a.test.ts'], only: [] }]);
});
