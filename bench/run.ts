/**
 * Measures Spine and its peers side by side: npm run bench -- [names…] [--quick] [--runs 3], or this checkout and
 * another one: npm run bench -- [names…] --against <checkout>, or this checkout and itself without a trick for speed:
 * npm run bench -- [names…] --without <trick>|all.
 * The entrants of a bench alternate, so that a busy moment of the machine meets all of them alike.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../test/support/postgres.ts';
import { benchesOf, compare, isOurs, type Side } from './against.ts';
import type { Bench, Entrant, Size } from './bench.ts';
import { allBenches } from './benches/all.ts';
import { AT_LEAST, type Comparison, printedComparison } from './comparison.ts';
import { type Options, optionsOf, refuseBuilt } from './options.ts';
import type { Measured } from './phase.ts';
import { printed, reportOn } from './report.ts';
import { measureEntrant } from './measure-entrant.ts';
import { copySources } from '../test/mutants/copy.ts';
import { removed, type Trick, TRICKS, verdictOn } from './tricks.ts';

const QUICK = 8;
const HERE = join(import.meta.dirname, '..');

const options = asked(() => optionsOf(process.argv.slice(2)));
const { runs, against, without } = options;
const size: Size = {
  jobs: (full) => (options.quick ? Math.ceil(full / QUICK) : full),
  ms: (full) => (options.quick ? Math.ceil(full / QUICK) : full),
};
const benches = chosen(allBenches(size), options);

const tricks = without === null ? [] : asked(() => tricksNamed(without));
if (against === null && without === null) install();
else for (const checkout of [HERE, against ?? HERE]) asked(() => refuseBuilt(checkout));
say(
  `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}; medians of ${runs} runs`,
);
const postgres = await startPostgres({ durable: true });
try {
  const fine = await (without !== null
    ? withoutTricks()
    : against === null
      ? withPeers()
      : withCheckout(against));
  if (!fine) process.exitCode = 1;
} finally {
  await postgres.stop();
}

/** Whether every entrant did its work. */
async function withPeers(): Promise<boolean> {
  let valid = true;
  for (const bench of benches) {
    const report = reportOn(bench, await measureAll(bench));
    valid &&= report.problems.length === 0;
    say('', printed(report), JSON.stringify(report));
  }
  return valid;
}

/** Whether both did their work, and no row of this checkout is slower. */
async function withCheckout(checkout: string): Promise<boolean> {
  const comparisons = await compared(checkout, benches);
  const rows = comparisons.flatMap(({ bench, rows }) => rows.map((row) => ({ bench, ...row })));
  const below = rows.filter((row) => row.below);
  say('', `${rows.length} rows compared with ${checkout}; ${below.length} below ${AT_LEAST}.`);
  for (const { bench, entrant, measure, ratio } of below)
    say(`${bench}: ${entrant}, ${measure}: ${ratio.toFixed(2)}`);
  return below.length === 0 && comparisons.every(({ problems }) => problems.length === 0);
}

/** Whether every trick pays in a row that it serves. */
async function withoutTricks(): Promise<boolean> {
  const verdicts: { readonly line: string; readonly pays: boolean }[] = [];
  for (const trick of tricks) {
    await using copy = await copySources();
    await removed(copy.folder, trick);
    const served = benches.filter(({ name }) => trick.serves.includes(name));
    verdicts.push(verdictOn(trick, await compared(copy.folder, served)));
  }
  say('', ...verdicts.map(({ line }) => line));
  return verdicts.every(({ pays }) => pays);
}

function tricksNamed(name: string): readonly Trick[] {
  const found = TRICKS.filter((trick) => name === 'all' || trick.name === name);
  if (found.length > 0) return found;
  throw new Error(`There is no trick ${name}. There are: ${TRICKS.map((trick) => trick.name).join(', ')}.`);
}

async function compared(checkout: string, chosen: readonly Bench[]): Promise<Comparison[]> {
  const known = await benchesOf(checkout, size);
  const comparisons: Comparison[] = [];
  const measure = (bench: Bench, entrant: Entrant, side: Side): Promise<Measured> => {
    process.stderr.write(`${bench.name}: ${entrant.name}, ${side}\n`);
    return measureEntrant(postgres.url, bench, entrant, side === 'here' ? undefined : checkout);
  };
  for (const bench of chosen) {
    if (!bench.entrants.some(isOurs)) continue;
    const comparison = await compare(bench, known, runs, measure);
    comparisons.push(comparison);
    say('', printedComparison(comparison), JSON.stringify(comparison));
  }
  return comparisons;
}

function chosen(all: readonly Bench[], { names }: Options): Bench[] {
  const known = all.map((bench) => bench.name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) stop(`There is no bench ${unknown.join(', ')}. There are: ${known.join(', ')}.`);
  return all.filter((bench) => names.length === 0 || names.includes(bench.name));
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
      if (found[0]?.skipped === undefined) found.push(await measureEntrant(postgres.url, bench, entrant));
    }
  }
  return measured;
}

/** What cannot be done as it was asked for is said without a stack. */
function asked<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    stop(error instanceof Error ? error.message : String(error));
  }
}

function say(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

function stop(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
