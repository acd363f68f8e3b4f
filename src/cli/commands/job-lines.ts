/** Jobs as people read them. */

import type { ClaimedJob, Job } from '../../client/index.ts';
import { JOB_OPTIONS } from '../job-options.ts';
import { type Line, type Piece, styled } from '../text/line.ts';
import { stateText } from '../text/states.ts';
import { table } from '../text/table.ts';
import { duration, relative } from '../text/times.ts';

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

/** Everything, one fact on a line. */
export function jobDetails(job: Job & Partial<ClaimedJob>, nowMs: number): Line[] {
  const when = (iso: string | null | undefined): string | undefined =>
    iso === null || iso === undefined ? undefined : `${iso} (${relative(iso, nowMs)})`;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['id', job.id],
    ['target', job.target],
    ['type', job.type],
    ['title', job.title],
    ['attempts', `${job.attempts} of ${job.maxAttempts}`],
    ['priority', job.priority === 0 ? undefined : String(job.priority)],
    ['tags', job.tags.length > 0 ? job.tags.join(', ') : undefined],
    ['created', `${when(job.createdAt) ?? ''} by ${job.createdBy}`],
    ['changed', when(job.updatedAt)],
    ['runs at', when(job.runAt)],
    ['retry at', when(job.retryAt)],
    ['started', when(job.startedAt)],
    ['finished', when(job.finishedAt)],
    ['waited', job.queuedMs === undefined ? undefined : duration(job.queuedMs)],
    ['ran', job.runMs === undefined ? undefined : duration(job.runMs)],
    ['claimed by', job.claimedBy ?? undefined],
    ['lease until', when(job.leaseUntil)],
    ['lease token', job.leaseToken],
    ['pool', job.pool],
    ['waiting for', job.waitingFor === undefined ? undefined : `${job.waitingFor} jobs`],
    ['blocked on', job.blockedOn],
    ['question', job.question],
    ['unique key', job.uniqueKey],
    ['parent', job.parentId],
    ['retry of', job.retryOf],
    ['reason', job.reason],
    ...OTHERS.map((field) => [spoken(field), said(job[field])] as const),
  ];
  return [
    [styled('bold', `Job #${job.no} `), stateText(job.state), job.cancelRequested ? ' (asked to stop)' : ''],
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [fact(name, value)])),
    ...texts(job),
    ...job.comments.map(({ t, by, text }): Line => fact('comment', `${by}, ${relative(t, nowMs)}: ${text}`)),
  ];
}

/** What was asked for and is said in no other words. */
const IN_OTHER_WORDS = new Set([
  'target',
  'priority',
  'maxAttempts',
  'leaseMs',
  'uniqueKey',
  'pool',
  'runAt',
]);
const OTHERS = JOB_OPTIONS.flatMap(({ field }) => (IN_OTHER_WORDS.has(field) ? [] : [field as keyof Job]));

function spoken(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function said(value: unknown): string | undefined {
  if (value === undefined || typeof value === 'string') return value;
  return Array.isArray(value) ? value.join(', ') : JSON.stringify(value);
}

const NAME_COLUMNS = 12;

export function fact(name: string, value: string): Line {
  return [styled('dim', name.padEnd(NAME_COLUMNS)), ` ${value}`];
}

function texts({
  description,
  spec,
  params,
  meta,
  progress,
  result,
  error,
  sop,
  checkpoint,
  answers = [],
}: Job & Partial<ClaimedJob>): Line[] {
  return [
    ...block('description', description),
    ...block('spec', spec === '' ? undefined : spec),
    ...block('params', params),
    ...block('meta', isEmpty(meta) ? undefined : meta),
    ...block('progress', progress),
    ...block('result', result ?? undefined),
    ...block('error', error ?? undefined),
    ...block('how to', sop ?? undefined),
    ...block('checkpoint', checkpoint),
    ...answers.flatMap(({ question, answer, by }) => [
      ...block('asked', question),
      ...block(`${by} said`, answer),
    ]),
  ];
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

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}
