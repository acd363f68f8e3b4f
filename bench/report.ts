/** Medians, ratios and whether the bars are met, as a table and as one line of JSON. */

import type { Bar, Bench, Limit } from './bench.ts';
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

interface JudgedLimit extends Limit {
  readonly met: boolean;
  readonly goalMet: boolean | null;
}

export interface Report {
  readonly bench: string;
  readonly title: string;
  readonly unit: string;
  readonly rates: Readonly<Record<string, Readonly<Record<string, Rate>>>>;
  readonly bars: readonly Judged[];
  readonly limits: readonly JudgedLimit[];
  readonly problems: readonly string[];
  /** Entrants that could not be measured here, with the reason. */
  readonly skipped: Readonly<Record<string, string>>;
}

export function reportOn(bench: Bench, runs: Runs): Report {
  const rates: Record<string, Record<string, Rate>> = {};
  const problems: string[] = [];
  const skipped: Record<string, string> = {};
  for (const { name } of bench.entrants) {
    const all = runs.get(name) ?? [];
    const reason = all.find((run) => run.skipped !== undefined)?.skipped;
    if (reason !== undefined) {
      skipped[name] = reason;
      continue;
    }
    const measured = all.filter((run) => run.problem === null);
    for (const { problem } of all) if (problem !== null) problems.push(`${name}: ${problem}`);
    const measures = new Set(measured.flatMap((run) => Object.keys(run.rates)));
    rates[name] = Object.fromEntries(
      [...measures].map((measure) => [
        measure,
        rateOf(
          measured.map((run) => run.rates[measure] ?? Number.NaN),
          bench.unit === 'ms' ? rounded : Math.round,
        ),
      ]),
    );
  }
  const bars = bench.bars.filter(({ theirs }) => !(theirs in skipped)).map((bar) => judge(bar, rates));
  const limits = (bench.limits ?? []).map((limit) => judgeLimit(limit, rates));
  return {
    bench: bench.name,
    title: bench.title,
    unit: bench.unit ?? 'jobs/s',
    rates,
    bars,
    limits,
    problems,
    skipped,
  };
}

function rateOf(values: readonly number[], round: (value: number) => number): Rate {
  return {
    median: round(median(values)),
    low: round(Math.min(...values)),
    high: round(Math.max(...values)),
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

function judgeLimit(limit: Limit, rates: Report['rates']): JudgedLimit {
  const value = rates[limit.entrant]?.[limit.measure]?.median ?? Number.NaN;
  return {
    ...limit,
    met: value < limit.below,
    goalMet: limit.goal === undefined ? null : value < limit.goal,
  };
}

/** A table that reads the same in a terminal and in the guide. */
export function printed(report: Report): string {
  const lines = [`### ${report.title} (\`${report.bench}\`)`, ''];
  lines.push(
    `| measured | ${report.unit} | lowest and highest run | ratio | expected | |`,
    '|---|---:|---:|---:|---|---|',
  );
  for (const [name, measures] of Object.entries(report.rates)) {
    for (const [measure, rate] of Object.entries(measures)) {
      const bar = report.bars.find((each) => each.theirs === name && each.measure === measure);
      const limit = report.limits.find((each) => each.entrant === name && each.measure === measure);
      const label = Object.keys(measures).length > 1 ? `${name}, ${measure}` : name;
      lines.push(
        `| ${[label, number(rate.median), `${number(rate.low)} to ${number(rate.high)}`, ...(limit === undefined ? verdict(bar) : limitVerdict(limit, report.unit))].join(' | ')} |`,
      );
    }
  }
  for (const [name, reason] of Object.entries(report.skipped))
    lines.push('', `${name} was skipped: ${reason}.`);
  for (const problem of report.problems) lines.push('', `**This does not count.** ${problem}`);
  return `${lines.join('\n')}\n`;
}

function limitVerdict(limit: JudgedLimit, unit: string): string[] {
  const goal = limit.goal === undefined ? '' : `, goal below ${limit.goal} ${unit}`;
  const goalMet = limit.goalMet === null ? '' : `, goal ${limit.goalMet ? 'met' : 'missed'}`;
  const met = limit.met ? 'met' : '**missed**';
  return ['', `below ${limit.below} ${unit}${goal}`, `${met}${goalMet}`];
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
