import { deepStrictEqual, ok } from 'node:assert';
import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'node:test';

/**
 * What each part of src/ may import besides itself. A part is a folder, or a file that stands alone.
 * `store interface` is what callers of the store may know: its types, none of its databases.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[] | 'everything'>> = {
  domain: [],
  runtime: ['domain'],
  config: [],
  client: [],
  tokens: ['config'],
  'store interface': ['domain'],
  store: ['domain', 'store interface'],
  engine: ['domain', 'store interface'],
  loops: ['engine', 'domain', 'store interface', 'prompt', 'channels', 'blobs', 'files'],
  gateway: ['domain'],
  channels: ['domain'],
  prompt: ['domain'],
  blobs: ['domain'],
  files: ['domain', 'store interface'],
  import: ['domain', 'store interface'],
  http: ['engine', 'domain', 'blobs'],
  worker: ['client', 'gateway', 'prompt'],
  cli: ['client'],
  app: 'everything',
  main: 'everything',
};

interface Edge {
  readonly file: string;
  readonly line: number;
  readonly from: string;
  readonly to: string;
}

const sources = globSync('src/**/*.ts').map((path) => {
  const file = path.replaceAll('\\', '/');
  return { file, text: readFileSync(file, 'utf8') };
});

test('every import in src/ is in the import table', () => {
  const edges = sources.flatMap(({ file, text }) => edgesOf(file, text));
  ok(edges.length > 20, `saw only ${edges.length} imports between files: the reading of imports is broken`);
  deepStrictEqual(edges.flatMap(violations), []);
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
  ].join('\n');
  deepStrictEqual(edgesOf('src/engine/jobs.ts', planted).flatMap(violations), [
    'src/engine/jobs.ts:2: engine may not import store',
    'src/engine/jobs.ts:5: engine may not import runtime',
    'src/engine/jobs.ts:6: engine may not import http',
    'src/engine/jobs.ts:7: engine may not import app',
    'src/engine/jobs.ts:8: engine may not import a file outside src/',
  ]);
});

test('a folder that the import table does not name is reported', () => {
  deepStrictEqual(edgesOf('src/misc/a.ts', "import '../domain/job.ts';").flatMap(violations), [
    'src/misc/a.ts:1: misc has no row in the import table',
  ]);
});

test('a planted clock read is reported by file and line', () => {
  const planted = '/* new Date() */\nconst then = new Date(0);\nconst now = new Date( );';
  deepStrictEqual(clockReads('src/domain/a.ts', planted), ['src/domain/a.ts:3: new Date() reads the clock']);
});

function edgesOf(file: string, text: string): readonly Edge[] {
  const code = withoutComments(text);
  const imports = code.matchAll(/\b(?:from|import)\s*\(?\s*(['"])(\.[^'"]*)\1/g);
  return [...imports].map(({ index, 0: match, 2: target = '' }) => ({
    file,
    line: lineAt(code, index + match.length),
    from: partOf(file),
    to: partOf(posix.join(posix.dirname(file), target)),
  }));
}

function partOf(file: string): string {
  if (/^src\/store\/(store|types)(\/|\.ts$)/.test(file)) return 'store interface';
  return /^src\/([^/.]+)/.exec(file)?.[1] ?? 'a file outside src/';
}

function violations({ file, line, from, to }: Edge): readonly string[] {
  const allowed = MAY_IMPORT[from];
  if (!allowed) return [`${file}:${line}: ${from} has no row in the import table`];
  if (allowed === 'everything' || from === to || allowed.includes(to)) return [];
  return [`${file}:${line}: ${from} may not import ${to}`];
}

function clockReads(file: string, text: string): readonly string[] {
  const code = withoutComments(text);
  const reads = code.matchAll(/\bnew\s+Date\s*\(\s*\)/g);
  return [...reads].map(({ index }) => `${file}:${lineAt(code, index)}: new Date() reads the clock`);
}

/** Comments become spaces and line ends, so that positions keep their line. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(?<![:'"`\w])\/\/.*/g, (comment) => comment.replace(/[^\n]/g, ' '));
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
