/** What `spine top` shows, as lines. */

import type { Job, State, Stats } from '../../client/index.ts';
import { type Line, type Piece, styled } from '../text/line.ts';
import { table } from '../text/table.ts';
import { relative } from '../text/times.ts';
import { summary } from './job-lines.ts';
import type { Size } from './live-view.ts';
import { countLine } from './stats.ts';
import type { Picture } from './top.ts';

/** Lines besides the jobs: four at the top, a blank and a title for the second table, two heads, one at the bottom. */
const FRAME_LINES = 10;
const FEWEST_JOBS = 1;

/** `before` is the last look, null at the first one; a picture taken once has none. */
export function screenLines(picture: Picture, before: Picture | null | 'once', size: Size): Line[] {
  const room = Math.max(2 * FEWEST_JOBS, size.rows - FRAME_LINES);
  const queuedRoom = Math.min(picture.oldestQueued.length, Math.max(FEWEST_JOBS, Math.floor(room / 3)));
  const running = picture.running.slice(0, room - queuedRoom);
  const queued = picture.oldestQueued.slice(0, queuedRoom);
  const lines: Line[] = [
    [
      styled('bold', 'Spine'),
      ` at ${picture.url}  ${clockText(picture.atMs)}  `,
      styled('dim', before === 'once' ? '' : 'q ends'),
    ],
    countLine(picture.stats),
    ...(before === 'once' ? [] : [rateLine(picture, before)]),
    '',
    [styled('bold', 'Running '), shownOf(running.length, picture.stats.states.running)],
    ...(running.length === 0 ? ['  nothing'] : runningTable(running, picture.atMs, size.columns)),
    '',
    [styled('bold', 'Oldest queued '), shownOf(queued.length, picture.stats.states.queued)],
    ...(queued.length === 0 ? ['  nothing'] : queuedTable(queued, picture.atMs, size.columns)),
  ];
  return lines.slice(0, size.rows);
}

function clockText(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}

function shownOf(shown: number, all: number): Piece {
  return styled('dim', shown < all ? `(${shown} of ${all.toLocaleString('en')})` : `(${all})`);
}

const ENDED: readonly State[] = ['failed', 'dead', 'cancelled', 'skipped'];

/** From one look to the next; the first has nothing to compare with. */
function rateLine(picture: Picture, before: Picture | null): Line {
  if (before === null) return styled('dim', 'rates follow with the next look');
  const seconds = Math.max(0.001, (picture.atMs - before.atMs) / 1000);
  const rate = (count: (stats: Stats) => number): string =>
    (Math.max(0, count(picture.stats) - count(before.stats)) / seconds).toFixed(1);
  const created = rate(({ states }) => Object.values(states).reduce((sum, n) => sum + n, 0));
  const done = rate(({ states }) => states.done);
  const lost = rate(({ states }) => ENDED.reduce((sum, state) => sum + states[state], 0));
  return [
    `${created}/s created, `,
    styled('green', `${done}/s done`),
    ', ',
    styled('red', `${lost}/s not done`),
  ];
}

function runningTable(jobs: readonly Job[], nowMs: number, columns: number): Line[] {
  const heads = [
    { head: 'job', right: true },
    { head: 'target', gives: true },
    { head: 'what', gives: true },
    { head: 'progress', gives: true },
    { head: 'by' },
    { head: 'try', right: true },
    { head: 'since' },
    { head: 'lease' },
  ];
  const rows = jobs.map((job): Piece[] => [
    `#${job.no}`,
    job.target,
    summary(job),
    job.progress === undefined ? '-' : textOf(job.progress),
    job.claimedBy ?? '-',
    String(job.attempts),
    relative(job.updatedAt, nowMs),
    leaseCell(job, nowMs),
  ]);
  return table(heads, rows, columns);
}

function leaseCell({ leaseUntil }: Job, nowMs: number): Piece {
  const text = relative(leaseUntil, nowMs);
  return leaseUntil !== null && Date.parse(leaseUntil) < nowMs ? styled('red', text) : text;
}

function textOf(progress: unknown): string {
  return typeof progress === 'string' ? progress : JSON.stringify(progress);
}

function queuedTable(jobs: readonly Job[], nowMs: number, columns: number): Line[] {
  const heads = [
    { head: 'job', right: true },
    { head: 'target', gives: true },
    { head: 'what', gives: true },
    { head: 'created' },
  ];
  const rows = jobs.map((job) => [`#${job.no}`, job.target, summary(job), relative(job.createdAt, nowMs)]);
  return table(heads, rows, columns);
}
