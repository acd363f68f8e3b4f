import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { BUDGET_S, LONG_FILES, slowest, testFiles } from '../scripts/durations.ts';
import report from '../scripts/results-reporter.ts';
import { parseDurations, parseResults } from '../scripts/results.ts';

const REPO = resolve(import.meta.dirname, '..');
const TOKEN = 'a-token-that-only-the-env-file-knows';

/** Runs an npm script's own command line in a folder of its own, and answers the address it prints. */
async function run(script: string, folder: string): Promise<{ url: string; child: ChildProcess }> {
  const manifest = JSON.parse(await readFile(join(REPO, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const [, ...args] = (manifest.scripts[script] ?? '')
    .replace('bin/spine.cjs', join(REPO, 'bin/spine.cjs'))
    .split(' ');
  const env = { PATH: process.env['PATH'], SPINE_DATA_DIR: join(folder, 'data'), SPINE_PORT: '0' };
  // A group of its own: a watching Node runs the server as its child, and both must end.
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  ok(child.stdout);
  for await (const line of createInterface(child.stdout)) {
    const url = /ready at (http:\S+)/.exec(line)?.[1];
    if (url !== undefined) return { url, child };
  }
  throw new Error(`npm run ${script} ended before the server was ready`);
}

for (const script of ['start', 'dev']) {
  test(`npm run ${script} runs a server that answers [SP-40]`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'spine-script-'));
    await writeFile(join(folder, '.env'), `HEAD_TOKEN=${TOKEN}\n`);
    const { url, child } = await run(script, folder);
    try {
      const health = await fetch(`${url}/health`);
      strictEqual(health.status, 200);
      // Only the development server reads .env; the other made tokens of its own.
      const jobs = await fetch(`${url}/jobs`, { headers: { authorization: `Bearer ${TOKEN}` } });
      strictEqual(jobs.status, script === 'dev' ? 200 : 401);
    } finally {
      const ended = once(child, 'exit');
      process.kill(-(child.pid ?? 0), 'SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  });
}

test('npm test is the command that CI runs [SP-40]', async () => {
  match(await readFile(join(REPO, '.ci/run'), 'utf8'), /npm test/);
});

test('a test is reported after its suites, also when another file opened them', async () => {
  const at = (type: string, nesting: number, name: string, file: string) => ({
    type,
    data: { nesting, name, file, details: { type: 'test' } },
  });
  async function* events() {
    for (const kind of ['SQLite', 'PostgreSQL']) {
      yield at('test:start', 0, kind, 'support.ts');
      yield at('test:start', 1, 'keeps it', 'a.test.ts');
      yield at('test:pass', 1, 'keeps it', 'a.test.ts');
    }
    yield { type: 'test:summary', data: { file: resolve('a.test.ts'), duration_ms: 12 } };
  }
  let lines = '';
  // Only what the reporter looks at.
  for await (const line of report(events() as unknown as Parameters<typeof report>[0])) lines += line;
  deepStrictEqual(
    parseResults(lines).map(({ name }) => name),
    ['SQLite > keeps it', 'PostgreSQL > keeps it'],
  );
  deepStrictEqual(parseDurations(lines), [{ file: 'a.test.ts', durationMs: 12 }]);
});

test('test files run in the order in which they are given, and one that fails fails the run', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'spine-order-'));
  try {
    await mkdir(join(folder, '.cache'));
    const file = (name: string, body: string) =>
      writeFile(
        join(folder, `${name}.test.mjs`),
        `import { test } from 'node:test'; test('${name}', () => {${body}});`,
      );
    await file('b', '');
    await file('a', `throw new Error('broken')`);
    const script = join(REPO, 'scripts/test-files.ts');
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const ran = spawnSync(process.execPath, [script, 'b.test.mjs', 'a.test.mjs'], { cwd: folder, env });
    strictEqual(ran.status, 1, ran.stderr.toString());
    const results = parseResults(await readFile(join(folder, '.cache/test-results.ndjson'), 'utf8'));
    deepStrictEqual(
      results.map(({ name, outcome }) => [name, outcome]),
      [
        ['b', 'passed'],
        ['a', 'failed'],
      ],
    );
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

test('the longest files begin first, each that has a budget is there, and the slowest are shown against it', () => {
  const files = testFiles(REPO);
  const long = Object.entries(LONG_FILES).toSorted(([, a], [, b]) => b - a);
  ok(long.every(([, seconds]) => seconds > BUDGET_S));
  deepStrictEqual(new Set(files.slice(0, long.length)), new Set(long.map(([file]) => file)));
  strictEqual(files[0], long[0]?.[0]);
  strictEqual(new Set(files).size, files.length);
  const short = files.at(-1);
  const took = files.map((file) => ({ file, durationMs: file === short ? 99_000 : 1 }));
  match(slowest(took).split('\n')[1] ?? '', new RegExp(`^ +99\\.0 s  ${short}, over its budget of 10 s$`));
  strictEqual(slowest(took).split('\n').length, 11);
});
