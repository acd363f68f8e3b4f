/** Medians, ratios and whether the bars are met, as a table and as one line of JSON. */

import type { Bar, Bench } from './bench.ts';
import { median } from './measure.ts';
import type { Measured } from './phase.ts';

export type Runs = ReadonlyMap<string, readonly Measured[]>;

interface Rate {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

interface Judged extends Bar {
  readonly ratio: number;
  readonly met: boolean;
  readonly goalMet: boolean | null;
}

export interface Report {
  readonly bench: string;
  readonly title: string;
  readonly rates: Readonly<Record<string, Readonly<Record<string, Rate>>>>;
  readonly bars: readonly Judged[];
  readonly problems: readonly string[];
}

export function reportOn(bench: Bench, runs: Runs): Report {
  const rates: Record<string, Record<string, Rate>> = {};
  const problems: string[] = [];
  for (const { name } of bench.entrants) {
    const all = runs.get(name) ?? [];
    const measured = all.filter((run) => run.problem === null);
    for (const { problem } of all) if (problem !== null) problems.push(`${name}: ${problem}`);
    const measures = new Set(measured.flatMap((run) => Object.keys(run.rates)));
    rates[name] = Object.fromEntries(
      [...measures].map((measure) => [
        measure,
        rateOf(measured.map((run) => run.rates[measure] ?? Number.NaN)),
      ]),
    );
  }
  const bars = bench.bars.map((bar) => judge(bar, rates));
  return { bench: bench.name, title: bench.title, rates, bars, problems };
}

function rateOf(values: readonly number[]): Rate {
  return {
    median: Math.round(median(values)),
    low: Math.round(Math.min(...values)),
    high: Math.round(Math.max(...values)),
  };
}

function judge(bar: Bar, rates: Report['rates']): Judged {
  const ours = rates[bar.ours]?.[bar.measure]?.median ?? Number.NaN;
  const theirs = rates[bar.theirs]?.[bar.measure]?.median ?? Number.NaN;
  const ratio = Math.round((ours / theirs) * 100) / 100;
  return {
    ...bar,
    ratio,
    met: bar.atLeast === 0 || ratio >= rounded(bar.atLeast),
    goalMet: bar.goal === undefined ? null : ratio >= bar.goal,
  };
}

/** A table that reads the same in a terminal and in the guide. */
export function printed(report: Report): string {
  const lines = [`### ${report.title} (\`${report.bench}\`)`, ''];
  lines.push(
    '| measured | jobs/s | lowest and highest run | ratio | expected | |',
    '|---|---:|---:|---:|---|---|',
  );
  for (const [name, measures] of Object.entries(report.rates)) {
    for (const [measure, rate] of Object.entries(measures)) {
      const bar = report.bars.find((each) => each.theirs === name && each.measure === measure);
      const label = Object.keys(measures).length > 1 ? `${name}, ${measure}` : name;
      lines.push(
        `| ${[label, number(rate.median), `${number(rate.low)} to ${number(rate.high)}`, ...verdict(bar)].join(' | ')} |`,
      );
    }
  }
  for (const problem of report.problems) lines.push('', `**This does not count.** ${problem}`);
  return `${lines.join('\n')}\n`;
}

function verdict(bar: Judged | undefined): string[] {
  if (bar === undefined) return ['', '', ''];
  const expected = [
    ...(bar.atLeast > 0 ? [`at least ${rounded(bar.atLeast)} x`] : []),
    ...(bar.goal === undefined ? [] : [`goal ${bar.goal} x`]),
  ];
  const met = [
    ...(bar.atLeast > 0 ? [bar.met ? 'met' : '**missed**'] : []),
    ...(bar.goalMet === null ? [] : [bar.goalMet ? 'goal met' : 'goal missed']),
  ];
  return [`${bar.ours} is ${bar.ratio.toFixed(2)} x`, expected.join(', '), met.join(', ')];
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
