import { match, strictEqual } from 'node:assert';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { chartOf } from '../../bench/chart.ts';

const rate = (median: number): object => ({ median, low: median, high: median });
const line = JSON.stringify({
  title: 'Enqueue & drain',
  rates: { Spine: { drain: rate(2_000) }, other: { drain: rate(500) } },
  bars: [{ ours: 'Spine', theirs: 'other' }],
});
const alone = JSON.stringify({
  title: 'Alone',
  rates: { on: { drain: rate(1) } },
  bars: [{ ours: 'on', theirs: 'off' }],
});

test('a chart has a bar for everybody whom Spine is measured with, as long as its rate', () => {
  const chart = chartOf(`a table\n${line}\n${alone}\n`);
  match(chart, /Enqueue &amp; drain/);
  const widths = [...chart.matchAll(/<rect [^>]*width="(\d+)"/g)].map(([, width]) => Number(width));
  strictEqual(widths.length, 2);
  strictEqual(Math.round((widths[0] ?? 0) / (widths[1] ?? 1)), 4);
  strictEqual(chart.includes('Alone'), false);
});

test('the chart in the guide is drawn from the lines beside it', () => {
  const guides = new URL('../../docs/guides/', import.meta.url);
  const read = (name: string): string => readFileSync(new URL(name, guides), 'utf8');
  strictEqual(read('performance.svg'), chartOf(read('performance.jsonl')));
});
