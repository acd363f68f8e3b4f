import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { besideRows, fieldRows } from '../scripts/job-pages.ts';

const REPO = join(import.meta.dirname, '..');
const PLANTED = `
  needs: {
    is: 'texts',
    group: 'fixed',
    default: null,
    shown: 'set',
    asked: { about: 'what its worker must have', shape: 'name', max: 8, option: '--needs <name>' },
  },
} as const satisfies`;
const GENERATED = [
  'docs/reference/openapi.json',
  'docs/reference/cli.md',
  'docs/reference/job.md',
  'src/client/job-types.ts',
  'src/cli/job-options.ts',
];

test('a field that stands in the table alone is missed in the client, the commands and the docs until they are written', (t) => {
  const copy = mkdtempSync(join(tmpdir(), 'spine-fields-'));
  t.after(() => rmSync(copy, { recursive: true, force: true }));
  for (const part of ['src', 'scripts', 'docs', 'SKILL.md', 'CONTRIBUTING.md', 'package.json'])
    cpSync(join(REPO, part), join(copy, part), { recursive: true });
  symlinkSync(join(REPO, 'node_modules'), join(copy, 'node_modules'));
  const table = join(copy, 'src/domain/job-fields.ts');
  writeFileSync(table, readFileSync(table, 'utf8').replace('\n} as const satisfies', PLANTED));
  const docs = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/docs.ts', ...args], { cwd: copy, encoding: 'utf8' });
  const written = (file: string): string => readFileSync(join(copy, file), 'utf8');

  const missed = docs('--check');
  strictEqual(missed.status, 1, missed.stderr);
  for (const file of ['openapi.json', 'job.md', 'job-types.ts', 'job-options.ts'])
    ok(missed.stderr.includes(file));
  strictEqual(docs().status, 0);
  deepStrictEqual([docs('--check').status, docs('--check').stderr], [0, '']);
  for (const file of GENERATED) match(written(file), /\bneeds\b/, file);
  match(written('src/client/job-types.ts'), /readonly needs\?: readonly string\[\];/);
});

test('the page about jobs says of every field what it means', () => {
  const rows = [...fieldRows(), ...besideRows()].map((cells) => [cells[0] ?? '', cells.at(-1) ?? '']);
  ok(rows.length > 60, `saw only ${rows.length} fields`);
  deepStrictEqual(
    rows.filter(([, meaning]) => meaning === ''),
    [],
  );
  const named = new Set(rows.map(([name]) => name));
  for (const name of ['status', 'retryOf', 'releaseReason', 'queuedMs', 'runMs', 'leaseToken', 'runAt'])
    ok(named.has(`\`${name}\``), name);
});
