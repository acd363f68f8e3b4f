/**
 * The tricks for speed, each with the edits that put the plain way in its place: npm run bench -- --without <trick>.
 * A trick stays when a row that it serves is at least 5 % better with it.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Comparison } from './comparison.ts';

/** What a row must be better with a trick. */
const PAYS = 1.05;

export interface Edit {
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

export interface Trick {
  /** As it is said on the command line. */
  readonly name: string;
  /** The benches with the rows that it serves. */
  readonly serves: readonly string[];
  readonly edits: readonly Edit[];
}

export const TRICKS: readonly Trick[] = [
  {
    name: 'remembered-times',
    serves: ['http-batches'],
    edits: [
      {
        file: 'src/http/iso.ts',
        find: '  const place = ms & (REMEMBERED - 1);\n  if (knownMs',
        replace:
          '  if (ms >= 0) return new Date(ms).toISOString();\n  const place = ms & (REMEMBERED - 1);\n  if (knownMs',
      },
    ],
  },
  {
    name: 'plain-rows',
    serves: ['embedded-enqueue', 'embedded-drain', 'postgres-enqueue', 'http-batches'],
    edits: [
      {
        file: 'src/store/tx/jobs.ts',
        find: 'const nos = rows.every(({ job }) => isPlain(job))',
        replace: 'const nos = rows.every(({ job }) => job === null && isPlain(job))',
      },
      {
        file: 'src/store/sql/ready-row.ts',
        find: "return [...few, `case when job.plain = 1 then null else ${whole} end`].join(', ');",
        replace: 'return few.length === 0 ? whole : `${JOB_COLUMNS}, ${PAST_BYTES}`;',
      },
      {
        file: 'src/store/sql/ready-row.ts',
        find: 'export const READY_WIDTH: number = read.length + 1;',
        replace: 'export const READY_WIDTH: number = JOB_WIDTH + 1;',
      },
      {
        file: 'src/store/sql/ready-row.ts',
        find: '  const whole = row[read.length];\n',
        replace:
          '  if (row.length > READY_WIDTH) return { job: jobFrom(row), pastBytes: Number(row[JOB_WIDTH]) };\n  const whole = row[read.length];\n',
      },
    ],
  },
  {
    name: 'remembered-rows',
    serves: ['embedded-drain', 'postgres-drain-singles', 'postgres-drain-batches'],
    edits: [
      {
        file: 'src/store/row-memory.ts',
        find: '  keep(id: string, known: Known): void {\n',
        replace: '  keep(id: string, known: Known): void {\n    if (this.#rows.size === 0) return;\n',
      },
    ],
  },
  {
    name: 'look-at-the-folder',
    serves: ['embedded-drain'],
    edits: [
      {
        file: 'src/store/datadir-watch.ts',
        find: 'if (now !== null && now === known && ++looks % FILES_EVERY !== 0) return null;',
        replace: 'if (now !== null && now === known && ++looks < 0) return null;',
      },
    ],
  },
  {
    name: 'locks-of-one-writer',
    serves: ['postgres-drain-batches'],
    edits: [
      {
        file: 'src/store/postgres-memory.ts',
        find: '    if (known.every((row) => row.writer === writer)) {',
        replace: '    if (known.length === 0) {',
      },
    ],
  },
  {
    name: 'known-patterns',
    serves: ['postgres-enqueue', 'postgres-drain-singles', 'postgres-drain-batches'],
    edits: [
      {
        file: 'src/store/postgres-batch.ts',
        find: 'const PATTERNS = 16;',
        replace: 'const PATTERNS = 1;',
      },
    ],
  },
  {
    name: 'statements-in-one-piece',
    serves: ['postgres-enqueue', 'postgres-drain-singles', 'postgres-drain-batches'],
    edits: [
      {
        file: 'src/store/postgres-line.ts',
        find: '    if (!held) {',
        replace: '    if (held) {',
      },
    ],
  },
  {
    name: 'nice-threads',
    serves: ['http-enqueue', 'http-batches', 'files'],
    edits: [
      {
        file: 'src/runtime/background.ts',
        find: 'export function yieldToOthers(): void {\n',
        replace: 'export function yieldToOthers(): void {\n  if (process.pid > 0) return;\n',
      },
    ],
  },
  {
    name: 'statements-for-many-rows',
    serves: ['embedded-enqueue', 'embedded-drain'],
    edits: [
      {
        file: 'src/store/sqlite-batch.ts',
        find: '  if (first === undefined || rows.length === 1) return null;\n  const varying',
        replace: '  if (first === undefined || rows.length > 0) return null;\n  const varying',
      },
    ],
  },
];

/** The text of a file without the trick. One in which an edit has no place, or two, makes the trick stale. */
export function edited(text: string, trick: string, { file, find, replace }: Edit): string {
  const places = text.split(find).length - 1;
  if (places !== 1)
    throw new Error(`The trick "${trick}" is stale: an edit has ${places} places in ${file}, not one.`);
  return text.replace(find, () => replace);
}

/** Takes a trick out of a copy of the sources. */
export async function removed(folder: string, { name, edits }: Trick): Promise<void> {
  for (const edit of edits) {
    const file = join(folder, edit.file);
    await writeFile(file, edited(await readFile(file, 'utf8'), name, edit));
  }
}

/** What the rows say: `here` is with the trick, `there` without it. */
export function verdictOn(
  { name }: Trick,
  comparisons: readonly Comparison[],
): { readonly line: string; readonly pays: boolean } {
  const rows = comparisons.flatMap(({ bench, rows }) => rows.map((row) => ({ bench, ...row })));
  const [best] = rows.toSorted((a, b) => b.ratio - a.ratio);
  const problems = comparisons.flatMap((comparison) => comparison.problems);
  if (best === undefined || problems.length > 0)
    return {
      line: `${name}: not measured${problems.map((problem) => `; ${problem}`).join('')}`,
      pays: false,
    };
  const pays = best.ratio >= PAYS;
  const spread = `${best.low.toFixed(2)} to ${best.high.toFixed(2)}`;
  const most = `${best.ratio.toFixed(2)} (${spread}) at ${best.bench}: ${best.entrant}, ${best.measure}`;
  return { line: `${name}: ${pays ? 'pays' : 'DOES NOT PAY'}, at most ${most}`, pays };
}
