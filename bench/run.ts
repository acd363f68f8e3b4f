/**
 * Measures Spine and its peers side by side: npm run bench -- [names…] [--quick] [--runs 3].
 * The entrants of a bench take turns, so that a busy moment of the machine meets all of them alike.
 */

import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { freshDatabase, startPostgres } from '../test/support/postgres.ts';
import type { Bench, Entrant, Size } from './bench.ts';
import { allBenches } from './benches/all.ts';
import type { Measured } from './phase.ts';
import { printed, type Report, reportOn } from './report.ts';

/** Far above the slowest phase. */
const PHASE_LIMIT_MS = 180_000;
const QUICK = 8;
const REASON_CHARS = 2_000;

const execute = promisify(execFile);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, runs: { type: 'string' } },
});
const runs = wholeRuns(values.runs ?? (values.quick ? '1' : '3'));
const size: Size = {
  jobs: (full) => (values.quick ? Math.ceil(full / QUICK) : full),
  ms: (full) => (values.quick ? Math.ceil(full / QUICK) : full),
};
const benches = chosen(allBenches(size), positionals);

install();
say(
  `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}; medians of ${runs} runs`,
);
const postgres = await startPostgres({ durable: true });
let valid = true;
try {
  for (const bench of benches) {
    const report = reportOn(bench, await measureAll(bench));
    valid &&= report.problems.length === 0;
    show(report);
  }
} finally {
  await postgres.stop();
}
if (!valid) process.exitCode = 1;

function chosen(all: readonly Bench[], names: readonly string[]): Bench[] {
  const known = all.map((bench) => bench.name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) stop(`There is no bench ${unknown.join(', ')}. There are: ${known.join(', ')}.`);
  return all.filter((bench) => names.length === 0 || names.includes(bench.name));
}

function wholeRuns(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > 100)
    stop(`--runs ${text} is not a number from 1 to 100.`);
  return number;
}

/** The peers are needed here only, so they have a folder of their own. */
function install(): void {
  const folder = import.meta.dirname;
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  if (Object.keys(manifest.dependencies).every((name) => existsSync(join(folder, 'node_modules', name))))
    return;
  process.stderr.write('Installing the peers into bench/node_modules (npm ci, once)\n');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) stop('The peers could not be installed.');
}

async function measureAll(bench: Bench): Promise<Map<string, Measured[]>> {
  const measured = new Map<string, Measured[]>(bench.entrants.map(({ name }) => [name, []]));
  for (let run = 1; run <= runs; run++) {
    for (const entrant of bench.entrants) {
      process.stderr.write(`${bench.name}, run ${run} of ${runs}: ${entrant.name}\n`);
      const found = measured.get(entrant.name) ?? [];
      // What cannot be run here cannot be run the second time either.
      if (found[0]?.skipped === undefined) found.push(await measure(bench, entrant));
    }
  }
  return measured;
}

/** Every entrant starts in an empty place, in a fresh process. */
async function measure(bench: Bench, entrant: Entrant): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'spine-bench-'));
  const database = bench.store === 'postgres' ? await freshDatabase(postgres.url) : null;
  try {
    const task = JSON.stringify({ phase: entrant.phase, place: { folder, url: database?.url ?? null } });
    const file = join(import.meta.dirname, 'phase.ts');
    const { stdout, stderr } = await execute(process.execPath, [file, task], { timeout: PHASE_LIMIT_MS });
    process.stderr.write(stderr);
    return JSON.parse(stdout) as Measured;
  } catch (error) {
    return { rates: {}, problem: reason(error) };
  } finally {
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the process said before it ended; its command line says nothing to a reader. */
function reason(error: unknown): string {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  return (stderr || String(error)).slice(0, REASON_CHARS);
}

function show(report: Report): void {
  say('', printed(report));
  say(JSON.stringify(report));
}

function say(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

function stop(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
