/** Jobs as people read them. */

import type { Job } from '../../client/index.ts';
import { type Line, type Piece, styled } from '../text/line.ts';
import { stateText } from '../text/states.ts';
import { table } from '../text/table.ts';
import { relative } from '../text/times.ts';

/** What one line can say about the work. */
export function summary({ title, spec, type, params }: Job): string {
  if (title !== undefined) return title;
  if (typeof spec === 'string' && spec !== '') return firstLine(spec);
  if (spec !== '' && spec !== null) return JSON.stringify(spec);
  if (params !== undefined) return JSON.stringify(params);
  return type ?? '-';
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}

const COLUMNS = [
  { head: 'job', right: true },
  { head: 'state' },
  { head: 'target', gives: true },
  { head: 'type', gives: true },
  { head: 'what', gives: true },
  { head: 'tries', right: true },
  { head: 'by' },
  { head: 'changed' },
] as const;

export function jobTable(jobs: readonly Job[], nowMs: number, columns: number): Line[] {
  const rows = jobs.map((job): Piece[] => [
    `#${job.no}`,
    stateText(job.state),
    job.target,
    job.type ?? '-',
    summary(job),
    `${job.attempts}/${job.maxAttempts}`,
    job.claimedBy ?? '-',
    relative(job.updatedAt, nowMs),
  ]);
  return table(COLUMNS, rows, columns);
}

/** One line after something was done to a job. */
export function jobLine(job: Job, did: string): Line {
  const number = styled('bold', `#${job.no} `);
  if (did === job.state) return [number, stateText(job.state), ` ${job.id}`];
  return [number, `${did} (`, stateText(job.state), `) ${job.id}`];
}

const NAME_COLUMNS = 12;

export function fact(name: string, value: string): Line {
  return [styled('dim', name.padEnd(NAME_COLUMNS)), ` ${value}`];
}

/** Short values stand beside their name, long ones below it. */
export function block(name: string, value: unknown): Line[] {
  if (value === undefined) return [];
  const lines = (typeof value === 'string' ? value : prettyJson(value)).split('\n');
  if (lines.length === 1) return [fact(name, lines[0] ?? '')];
  return [styled('dim', name), ...lines.map((line) => `  ${line}`)];
}

const ONE_LINE_CHARS = 80;

function prettyJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= ONE_LINE_CHARS ? text : JSON.stringify(value, null, 2);
}
