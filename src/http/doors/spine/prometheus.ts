/** The text format of Prometheus, version 0.0.4. */

import type { Histogram } from '../../../domain/histogram.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Plain {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly samples: readonly (readonly [value: number, labels?: Labels])[];
}

export interface Distribution {
  readonly name: string;
  readonly type: 'histogram';
  readonly help: string;
  readonly samples: readonly (readonly [value: Histogram, labels?: Labels])[];
}

export type Family = Plain | Distribution;

export function prometheus(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map((family) => {
      const { name, type, help } = family;
      const lines =
        family.type === 'histogram'
          ? family.samples.flatMap(([value, labels]) => histogramLines(name, value, labels))
          : family.samples.map(([value, labels]) => `${name}${labelText(labels)} ${value}`);
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`;
    })
    .join('');
}

function histogramLines(
  name: string,
  { bounds, counts, count, sum }: Histogram,
  labels: Labels = {},
): string[] {
  let below = 0;
  const buckets = bounds.map((bound, i) => {
    below += counts[i] ?? 0;
    return `${name}_bucket${labelText({ ...labels, le: String(bound) })} ${below}`;
  });
  return [
    ...buckets,
    `${name}_bucket${labelText({ ...labels, le: '+Inf' })} ${count}`,
    `${name}_sum${labelText(labels)} ${sum}`,
    `${name}_count${labelText(labels)} ${count}`,
  ];
}

function labelText(labels: Labels = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
