/**
 * Draws what `npm run bench` printed: npm run --silent chart < results.jsonl > chart.svg.
 * One group of bars for each bench in which Spine meets others; each group has a scale of its own.
 */

import { text } from 'node:stream/consumers';
import type { Report } from './report.ts';

const WIDTH = 860;
const NAMES = 270;
const NUMBERS = 90;
const ROW = 20;
const BAR = 13;
const GROUP_GAP = 34;
const MARGIN = 16;
const OURS = '#2563eb';
const THEIRS = '#94a3b8';

interface Bars {
  readonly title: string;
  readonly rows: readonly { readonly name: string; readonly rate: number }[];
}

export function chartOf(lines: string): string {
  const groups = lines
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Report)
    .filter(({ bars }) => bars.some(({ ours }) => isOurs(ours)))
    .map(barsOf);
  let y = MARGIN;
  const drawn = groups.map((group) => {
    const svg = drawGroup(group, y);
    y += GROUP_GAP + group.rows.length * ROW;
    return svg;
  });
  const style = `text{font:12px system-ui,sans-serif;fill:#64748b}.title{font-weight:600}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="Jobs a second, Spine and its peers"><style>${style}</style>${drawn.join('')}</svg>\n`;
}

function barsOf({ title, rates }: Report): Bars {
  const rows = Object.entries(rates).flatMap(([name, measures]) =>
    Object.entries(measures).map(([measure, rate]) => ({
      name: Object.keys(measures).length > 1 ? `${name}, ${measure}` : name,
      rate: rate.median,
    })),
  );
  return { title, rows };
}

function drawGroup({ title, rows }: Bars, top: number): string {
  const most = Math.max(...rows.map(({ rate }) => rate));
  const room = WIDTH - 2 * MARGIN - NAMES - NUMBERS;
  const bars = rows.map(({ name, rate }, i) => {
    const y = top + 10 + i * ROW;
    const width = Math.max(1, Math.round((rate / most) * room));
    const x = MARGIN + NAMES;
    const fill = isOurs(name) ? OURS : THEIRS;
    return (
      `<text x="${x - 8}" y="${y + BAR - 2}" text-anchor="end">${escaped(name)}</text>` +
      `<rect x="${x}" y="${y}" width="${width}" height="${BAR}" rx="2" fill="${fill}"/>` +
      `<text x="${x + width + 6}" y="${y + BAR - 2}">${rate.toLocaleString('en-US')}</text>`
    );
  });
  return `<text class="title" x="${MARGIN}" y="${top}">${escaped(title)}</text>${bars.join('')}`;
}

function isOurs(name: string): boolean {
  return name.startsWith('Spine');
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

if (import.meta.main) process.stdout.write(chartOf(await text(process.stdin)));
