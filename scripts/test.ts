/**
 * Runs the tests on the sources, with everything they need. Arguments are file patterns or options
 * of `node --test`; without a pattern all tests run.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeTemplate, startPostgres } from '../test/support/postgres.ts';
import { giveS3 } from '../test/support/s3/given.ts';
import { startSwift } from '../test/support/s3/swift.ts';
import { filesAtOnce, slowest, TEST_LIMIT_MS, testFiles } from './durations.ts';
import { missingProofs } from './feature-report.ts';
import { parseDurations, parseResults, RESULTS_FILE } from './results.ts';
import { openTestFolder } from './test-folder.ts';

/** Far above a whole run on a busy machine. A file whose tests have ended but not its process has no other limit. */
const RUN_LIMIT_MS = 30 * 60_000;

/** Runs them in the order in which it is given them. */
const TEST_FILES = fileURLToPath(new URL('test-files.ts', import.meta.url));

const ci = process.env['CI'] === 'true';

async function main(args: readonly string[]): Promise<number> {
  const folder = await openTestFolder();
  // For what is started from here, and for the tests.
  process.env['TMPDIR'] = folder.path;
  const s3 = await openS3(args);
  const postgres = await openPostgres();
  try {
    const status = await runTests(args, { ...COMPILED, ...postgres.env, ...s3.env });
    console.log(slowest(parseDurations(await readFile(RESULTS_FILE, 'utf8'))));
    // Some of the tests prove some of the features.
    const proves = args.length > 0 || (await provesAll());
    if (status !== 0 || !proves) return status === 0 ? 1 : status;
    return ci ? await failOnSkips() : 0;
  } finally {
    await postgres.stop();
    await s3.stop();
    await folder.remove();
  }
}

/** Each test file is a process of its own, and most load the whole server: compiled code makes that three times as fast. */
const COMPILED = { NODE_COMPILE_CACHE: resolve('.cache/compile-tests') };

interface ForTests {
  readonly env: NodeJS.ProcessEnv;
  readonly stop: () => Promise<void>;
}

/** Its first installation takes most of a minute: the other tests run meanwhile. */
async function openS3(args: readonly string[]): Promise<ForTests> {
  const patterns = args.filter((arg) => !arg.startsWith('-'));
  const isNeeded = patterns.length === 0 || patterns.some((pattern) => /backup|s3/.test(pattern));
  if (!isNeeded) return { env: {}, stop: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), 'spine-s3-'));
  const file = join(folder, 's3.json');
  const starting = startSwift().then(
    async (s3) => {
      await giveS3(file, s3);
      return s3.stop;
    },
    async (error: unknown) => {
      const missing = error instanceof Error ? error.message : String(error);
      console.error(`Tests on S3 are skipped: ${missing}`);
      await giveS3(file, { missing });
      return async () => {};
    },
  );
  const stop = async (): Promise<void> => {
    await (await starting)();
    await rm(folder, { recursive: true, force: true });
  };
  return { env: { TEST_S3_FILE: file }, stop };
}

async function openPostgres(): Promise<ForTests> {
  const given = process.env['TEST_POSTGRES_URL'];
  if (given) {
    const { name, drop } = await makeTemplate(given);
    return { env: { TEST_POSTGRES_TEMPLATE: name }, stop: drop };
  }
  try {
    const { url, stop } = await startPostgres({ durable: false });
    const { name } = await makeTemplate(url);
    return { env: { TEST_POSTGRES_URL: url, TEST_POSTGRES_TEMPLATE: name }, stop };
  } catch (error) {
    if (ci) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`Tests on PostgreSQL are skipped: ${reason}`);
    return { env: { TEST_POSTGRES_MISSING: reason }, stop: async () => {} };
  }
}

async function runTests(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  await mkdir(dirname(RESULTS_FILE), { recursive: true });
  await rm(RESULTS_FILE, { force: true });
  const files = args.some((arg) => !arg.startsWith('-')) ? [] : testFiles('.');
  const command = args.length === 0 ? [TEST_FILES] : optionsOf(args);
  const child = spawn(process.execPath, [...command, ...files], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill(signal));
  }
  const hanging = setTimeout(() => void endHanging(files, child), RUN_LIMIT_MS);
  await once(child, 'exit');
  clearTimeout(hanging);
  return child.exitCode ?? 1;
}

/** For some of the files, or with options of `node --test`. */
function optionsOf(args: readonly string[]): readonly string[] {
  return [
    '--test',
    `--test-concurrency=${filesAtOnce()}`,
    `--test-timeout=${TEST_LIMIT_MS}`,
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${new URL('results-reporter.ts', import.meta.url).href}`,
    `--test-reporter-destination=${RESULTS_FILE}`,
    ...args,
  ];
}

async function endHanging(files: readonly string[], child: ChildProcess): Promise<void> {
  const ended = new Set(parseDurations(await readFile(RESULTS_FILE, 'utf8')).map(({ file }) => file));
  const left = files.filter((file) => !ended.has(file));
  console.error(`The tests did not end within ${RUN_LIMIT_MS} ms. Not ended: ${left.join(', ')}`);
  child.kill('SIGTERM');
}

async function provesAll(): Promise<boolean> {
  const results = parseResults(await readFile(RESULTS_FILE, 'utf8'));
  const problems = missingProofs(await readFile('docs/features.tsv', 'utf8'), results);
  for (const problem of problems) console.error(problem);
  return problems.length === 0;
}

/** A skipped test proves nothing, so the run that decides may have none. */
async function failOnSkips(): Promise<number> {
  const results = parseResults(await readFile(RESULTS_FILE, 'utf8'));
  const skipped = results.filter(({ outcome }) => outcome === 'skipped');
  for (const { file, name, reason } of skipped) {
    console.error(`skipped: ${file}: ${name} (${reason || 'no reason given'})`);
  }
  if (skipped.length > 0) console.error('No test may be skipped when CI=true.');
  return skipped.length > 0 ? 1 : 0;
}

process.exitCode = await main(process.argv.slice(2));
