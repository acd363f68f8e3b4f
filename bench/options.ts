/** What `npm run bench` was asked to do. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface Options {
  /** The benches to run; none named means all. */
  readonly names: readonly string[];
  readonly quick: boolean;
  readonly runs: number;
  /** Another checkout to be compared with, instead of the peers. */
  readonly against: string | null;
  /** A trick for speed to be compared with its absence, or `all` of them. */
  readonly without: string | null;
}

const MAX_RUNS = 100;

/** Throws an error whose message is for whoever called the command. */
export function optionsOf(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      runs: { type: 'string' },
      against: { type: 'string' },
      without: { type: 'string' },
    },
  });
  if (values.against !== undefined && values.without !== undefined)
    throw new Error('--against and --without do not go together: each names what to compare with.');
  return {
    names: positionals,
    quick: values.quick,
    runs: wholeRuns(values.runs ?? (values.quick ? '1' : '3')),
    against: values.against === undefined ? null : checkout(values.against),
    without: values.without ?? null,
  };
}

function wholeRuns(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > MAX_RUNS)
    throw new Error(`--runs ${text} is not a number from 1 to ${MAX_RUNS}.`);
  return number;
}

function checkout(path: string): string {
  const folder = resolve(path);
  if (!existsSync(join(folder, 'bench/phase.ts')))
    throw new Error(`--against ${path}: this is no checkout of Spine, bench/phase.ts is missing.`);
  if (!existsSync(join(folder, 'node_modules')))
    throw new Error(`--against ${path}: run npm ci there first.`);
  return folder;
}

/** A built checkout runs what was built: it may be older than the sources that are meant. */
export function refuseBuilt(folder: string): void {
  if (existsSync(join(folder, 'dist/main.js')))
    throw new Error(
      `${folder} has a dist/main.js, which would be measured instead of the sources: remove it.`,
    );
}
