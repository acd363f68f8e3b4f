import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { assess, idRange, missingProofs, REQUIRED } from '../scripts/feature-report.ts';
import type { TestResult } from '../scripts/results.ts';

const REPO = path.resolve(import.meta.dirname, '..');
const TABLE = await readFile(path.join(REPO, 'docs/features.tsv'), 'utf8');
const ALL = REQUIRED.flatMap(idRange);

test('every feature is required but the screens of the dashboard', () => {
  const inTable = TABLE.split('\n').slice(1).filter(Boolean);
  const others = inTable.map((row) => row.split('\t')[0] ?? '').filter((id) => !ALL.includes(id));
  assert.deepEqual(others, ['TQ-35', 'TQ-36', 'TQ-37', 'TQ-38', 'TQ-39']);
  assert.deepEqual(
    ALL.filter((id) => !TABLE.includes(`\n${id}\t`)),
    [],
  );
});

test('tests that name and pass every required feature leave no proof missing', () => {
  assert.deepEqual(missingProofs(TABLE, [passed(ALL)]), []);
});

for (const outcome of ['skipped', 'failed'] as const)
  test(`a feature whose one test was ${outcome} is not proven`, () => {
    const results = [passed(ALL.filter((id) => id !== 'SC-15')), { ...passed(['SC-15']), outcome }];
    assert.deepEqual(missingProofs(TABLE, results), ['SC-15 is required and not proven']);
  });

test('a feature with one failed test is not proven by another that passed', () => {
  const results = [passed(ALL), { ...passed(['WK-03']), outcome: 'failed' as const }];
  assert.deepEqual(assess(TABLE, results, ['WK-03']).requiredButUnproven, ['WK-03']);
});

test('an id that no feature has proves nothing in silence', () => {
  assert.deepEqual(missingProofs(TABLE, [passed([...ALL, 'SP-99'])]), [
    "SP-99 is in a test's name but not in docs/features.tsv",
  ]);
});

test('npm run features fails while a required feature is unproven, and CI asks for all of them', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'spine-features-'));
  await mkdir(path.join(folder, '.cache'));
  await mkdir(path.join(folder, 'docs'));
  await cp(path.join(REPO, 'docs/features.tsv'), path.join(folder, 'docs/features.tsv'));
  const args = /npm run features -- (.+)/.exec(await readFile(path.join(REPO, '.ci/run'), 'utf8'))?.[1] ?? '';
  const said = async (ids: readonly string[]) => {
    await writeFile(path.join(folder, '.cache/test-results.ndjson'), `${JSON.stringify(passed(ids))}\n`);
    const script = path.join(REPO, 'scripts/features.ts');
    return promisify(execFile)(process.execPath, [script, ...args.split(' ')], { cwd: folder }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    );
  };
  assert.equal((await said(ALL)).code, 0);
  const { code, stdout } = await said(ALL.slice(1));
  assert.equal(code, 1);
  assert.match(stdout, /SP-01 is required and not proven/);
  await rm(folder, { recursive: true });
});

function passed(ids: readonly string[]): TestResult {
  return { name: `something works [${ids.join(' ')}]`, file: 'some.test.ts', outcome: 'passed', reason: '' };
}
