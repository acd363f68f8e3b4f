import { deepStrictEqual, ok } from 'node:assert';
import { globSync, readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { ON_EVERY_STORE, WHOLE } from './spine.ts';

/** How many integration tests Spine v0 had. */
const V0_TESTS = 47;
/** What v0 promises over HTTP; the others are about its files and its scripts. */
const V0_OVER_HTTP = Array.from(
  { length: 36 },
  (_, index) => `SP-${String(index + 1).padStart(2, '0')}`,
).filter((id) => id !== 'SP-06');

const sources = globSync('test/contracts/spine-*.ts').map((file) => readFileSync(file, 'utf8'));

/** The tests in the files of these cases. */
function testsIn(cases: readonly { readonly name: string }[]): string[] {
  return cases.flatMap(({ name }) => {
    const source = sources.find((text) => text.includes(`export function ${name}(`));
    ok(source, `${name} is in no file`);
    return source.match(/^\s+test\(/gm) ?? [];
  });
}

suite('the Spine contract', () => {
  for (const [store, cases] of [
    ['SQLite', WHOLE],
    ['PostgreSQL', ON_EVERY_STORE],
  ] as const) {
    test(`is held by more integration tests than v0 had, on ${store} [SP-41]`, () => {
      const { length } = testsIn(cases);
      ok(length > V0_TESTS, `only ${length} tests are left`);
    });
  }

  test('names a test for everything that v0 promises over HTTP [SP-41]', () => {
    const named = new Set(sources.flatMap((text) => text.match(/SP-\d\d/g) ?? []));
    deepStrictEqual(
      V0_OVER_HTTP.filter((id) => !named.has(id)),
      [],
    );
  });
});
