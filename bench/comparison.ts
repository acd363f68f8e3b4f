/** Two checkouts side by side: what each measured, the ratio of each row, and which rows are below what is allowed. */

import type { Bench } from './bench.ts';
import { median } from './measure.ts';
import type { Measured } from './phase.ts';

/** A row below this is slower, not noisy. */
export const AT_LEAST = 0.95;

/** Differences that a ratio makes look large: a tenth of a millisecond, a few megabytes. */
const SAME_WITHIN = { ms: 0.1, MB: 5 };

/** What both measured in the same round, one right after the other. */
export interface Round {
  readonly here: Measured;
  readonly there: Measured;
}

export interface Row {
  readonly entrant: string;
  readonly measure: string;
  readonly here: number;
  readonly there: number;
  /** Above 1 this checkout is the better one: faster, or with less to wait for or to keep. */
  readonly ratio: number;
  /** Of the single rounds. */
  readonly low: number;
  readonly high: number;
  readonly below: boolean;
  readonly rounds: number;
}

/** The ratio is the median of those of the single rounds, so that a busy minute of the machine counts for neither side. */
export function rowsOf(entrant: string, unit: Bench['unit'], rounds: readonly Round[]): Row[] {
  const measures = new Set(rounds.flatMap(({ here }) => Object.keys(here.rates)));
  return [...measures].map((measure) => {
    const values = (side: keyof Round): number[] =>
      rounds.map((round) => round[side].rates[measure] ?? Number.NaN);
    const here = values('here');
    const there = values('there');
    const ratios = rounds.map((_, round) =>
      ratioOf(unit, here[round] ?? Number.NaN, there[round] ?? Number.NaN),
    );
    const ratio = median(ratios);
    const same = unit !== undefined && Math.abs(median(here) - median(there)) < SAME_WITHIN[unit];
    return {
      entrant,
      measure,
      here: median(here),
      there: median(there),
      ratio,
      low: Math.min(...ratios),
      high: Math.max(...ratios),
      below: !same && !(ratio >= AT_LEAST),
      rounds: rounds.length,
    };
  });
}

/** Of times and sizes less is better. */
function ratioOf(unit: Bench['unit'], here: number, there: number): number {
  return unit === undefined ? here / there : there / here;
}

/** What made rounds worthless, on either side. */
export function problemsOf(entrant: string, rounds: readonly Round[]): string[] {
  return rounds.flatMap(({ here, there }) => [
    ...(here.problem === null ? [] : [`${entrant}, here: ${here.problem}`]),
    ...(there.problem === null ? [] : [`${entrant}, there: ${there.problem}`]),
  ]);
}

export interface Comparison {
  readonly bench: string;
  readonly title: string;
  readonly unit: string;
  readonly rows: readonly Row[];
  /** Entrants that the other checkout does not know. */
  readonly unknown: readonly string[];
  readonly problems: readonly string[];
}

export function printedComparison({ bench, title, unit, rows, unknown, problems }: Comparison): string {
  const lines = [
    `### ${title} (\`${bench}\`)`,
    '',
    `| measured | here, ${unit} | there, ${unit} | ratio | of single rounds | |`,
    '|---|---:|---:|---:|---:|---|',
    ...rows.map((row) => {
      const rounds = row.rounds === 1 ? 'one round' : `${row.rounds} rounds`;
      const spread = `${row.low.toFixed(2)} to ${row.high.toFixed(2)}, ${rounds}`;
      const numbers = [number(row.here), number(row.there), row.ratio.toFixed(2), spread];
      return `| ${[`${row.entrant}, ${row.measure}`, ...numbers, row.below ? `**below ${AT_LEAST}**` : ''].join(' | ')} |`;
    }),
  ];
  for (const entrant of unknown)
    lines.push('', `${entrant} is not compared: the other checkout does not have it.`);
  for (const problem of problems) lines.push('', `**This does not count.** ${problem}`);
  return `${lines.join('\n')}\n`;
}

function number(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 2 : 0 });
}
