import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { importsOf, lineAt, needless, readSources, violations, withoutComments } from '../scripts/imports.ts';

const REPO = join(import.meta.dirname, '..');
const sources = readSources();

test('every import in src/ is in the import table, and the table allows nothing that nobody needs', () => {
  const imports = sources.flatMap(importsOf);
  ok(imports.length > 1000, `saw only ${imports.length} imports: the reading of imports is broken`);
  deepStrictEqual([...imports.flatMap(violations), ...needless(imports)], []);
});

test('npm run check fails when a folder imports what its row does not allow', (t) => {
  const { scripts } = JSON.parse(readFileSync(join(REPO, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  match(scripts['check'] ?? '', /&& npm run check:imports &&/);
  strictEqual(scripts['check:imports'], 'node scripts/imports.ts');

  const copy = mkdtempSync(join(tmpdir(), 'spine-imports-'));
  t.after(() => rmSync(copy, { recursive: true, force: true }));
  for (const part of ['src', 'scripts']) cpSync(join(REPO, part), join(copy, part), { recursive: true });
  const check = () => spawnSync(process.execPath, ['scripts/imports.ts'], { cwd: copy, encoding: 'utf8' });
  deepStrictEqual([check().status, check().stderr], [0, '']);
  appendFileSync(join(copy, 'src/domain/actor.ts'), "import { readFileSync } from 'node:fs';\n");
  const { status, stderr } = check();
  strictEqual(status, 1);
  match(stderr, /^src\/domain\/actor\.ts:\d+: domain may not import node:fs\n$/);
});

test('only src/runtime/ asks what time it is', () => {
  // The linter bans the other ways to reach the clock, randomness and the environment.
  const outside = sources.filter(({ file }) => !file.startsWith('src/runtime/'));
  deepStrictEqual(
    outside.flatMap(({ file, text }) => clockReads(file, text)),
    [],
  );
});

test('a planted forbidden import is reported by file and line', () => {
  const planted = [
    "import { now } from '../domain/time.ts';",
    "import type { Sqlite } from '../store/sqlite.ts';",
    "export {\n  clock,\n} from '../runtime/clock.ts';",
    "import '../http/server.ts';",
    "const late = import('../app.ts');",
    "import pack from '../../package.json';",
    "import type { Store } from '../store/store.ts';",
    "// import { x } from '../http/server.ts';",
  ];
  deepStrictEqual(problems('src/engine/jobs.ts', planted), [
    'src/engine/jobs.ts:2: engine may not import store',
    'src/engine/jobs.ts:5: engine may not import runtime',
    'src/engine/jobs.ts:6: engine may not import http',
    'src/engine/jobs.ts:7: engine may not import app',
    'src/engine/jobs.ts:8: engine may not import a file outside src/',
  ]);
});

test('a package and a module of Node that the row does not name are reported', () => {
  const planted = [
    "import { Cron } from 'croner';",
    "import { readFile } from 'node:fs/promises';",
    'import { hash } from "crypto";',
    "import type { Pool } from 'pg';",
    "import multipart, {\n  type Multipart,\n} from '@fastify/multipart/lib.js';",
    "const late = await import('node:os');",
  ];
  deepStrictEqual(problems('src/domain/cron.ts', planted), [
    'src/domain/cron.ts:2: domain may not import node:fs',
    'src/domain/cron.ts:3: domain may not import node:crypto',
    'src/domain/cron.ts:4: domain may not import types of pg',
    'src/domain/cron.ts:7: domain may not import @fastify/multipart',
    'src/domain/cron.ts:8: domain may not import node:os',
  ]);
});

test('a package of which only the types are allowed may not be run', () => {
  const planted = [
    "import type { Static } from 'typebox';",
    "import { Type } from 'typebox';",
    "export type * from 'typebox';",
  ];
  deepStrictEqual(problems('src/http/fields.ts', planted), [
    'src/http/fields.ts:2: http may not import typebox',
  ]);
  deepStrictEqual(problems('src/store/postgres.ts', ["import type { Client } from 'pg';"]), []);
});

test('a part of which only the types are allowed may not be run', () => {
  const planted = [
    "import type * as reads from './reads/index.ts';",
    "import { openSqlite } from './sqlite.ts';",
    "export type { Change } from './tx/jobs.ts';",
  ];
  deepStrictEqual(problems('src/store/store.ts', planted), [
    'src/store/store.ts:2: store interface may not import store',
  ]);
});

test('an allowance that no import needs is reported', () => {
  const imports = sources.flatMap(importsOf).filter(({ to }) => to !== 'croner');
  deepStrictEqual(needless(imports), ['the import table allows domain to import croner, which it does not']);
});

test('a door that knows another, and a server that knows a door, are reported', () => {
  const planted = ["import { x } from '../scheduler/view.ts';", "import { y } from '../../page.ts';"];
  deepStrictEqual(problems('src/http/doors/spine/jobs.ts', planted), [
    'src/http/doors/spine/jobs.ts:1: src/http/doors/spine may not import src/http/doors/scheduler',
  ]);
  deepStrictEqual(
    problems('src/http/server.ts', ["import './doors/spine/door.ts';", "import './doors.ts';"]),
    [
      'src/http/server.ts:1: http may not import src/http/doors/spine',
      'src/http/server.ts:2: http may not import list of doors',
    ],
  );
});

test('a folder that the import table does not name is reported', () => {
  deepStrictEqual(problems('src/misc/a.ts', ["import '../domain/job.ts';"]), [
    'src/misc/a.ts:1: misc has no row in the import table',
  ]);
});

test('a planted clock read is reported by file and line', () => {
  const planted = '/* new Date() */\nconst then = new Date(0);\nconst now = new Date( );';
  deepStrictEqual(clockReads('src/domain/a.ts', planted), ['src/domain/a.ts:3: new Date() reads the clock']);
});

function problems(file: string, lines: readonly string[]): readonly string[] {
  return importsOf({ file, text: lines.join('\n') }).flatMap(violations);
}

function clockReads(file: string, text: string): readonly string[] {
  const code = withoutComments(text);
  const reads = code.matchAll(/\bnew\s+Date\s*\(\s*\)/g);
  return [...reads].map(({ index }) => `${file}:${lineAt(code, index)}: new Date() reads the clock`);
}
