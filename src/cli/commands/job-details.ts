/** Everything about a job, one fact on a line. */

import type { ClaimedJob, Job } from '../../client/index.ts';
import { JOB_SHOWN, type ShownField } from '../job-options.ts';
import { type Line, styled } from '../text/line.ts';
import { stateText } from '../text/states.ts';
import { duration, relative } from '../text/times.ts';
import { block, fact } from './job-lines.ts';

export function jobDetails(job: Job & Partial<ClaimedJob>, nowMs: number): Line[] {
  const inOwnWords = ownFacts(job, nowMs);
  const others = JOB_SHOWN.filter(({ field }) => !(field in inOwnWords) && !(field in TEXTS)).map(
    ({ field, is }) => [spoken(field, is), said(job[field], is, nowMs)] as const,
  );
  const facts = [...Object.values(inOwnWords), ['lease token', job.leaseToken] as const, ...others];
  return [
    [styled('bold', `Job #${job.no} `), stateText(job.state), job.cancelRequested ? ' (asked to stop)' : ''],
    ...facts.flatMap(([name, value]) =>
      name === undefined || value === undefined ? [] : [fact(name, value)],
    ),
    ...texts(job),
    ...job.comments.map(({ t, by, text }): Line => fact('comment', `${by}, ${relative(t, nowMs)}: ${text}`)),
  ];
}

type Fact = readonly [name?: string, value?: string | undefined];
/** Said in the first line, with another field, or below. */
const ELSEWHERE: Fact = [];

/** What has words of its own, in their order. Everything else that a job shows follows in the words of its table. */
function ownFacts(job: Job, nowMs: number): { readonly [K in keyof Job]?: Fact } {
  const at = (iso: string | null | undefined) => whenText(iso, nowMs);
  return {
    no: ELSEWHERE,
    state: ELSEWHERE,
    status: ELSEWHERE,
    cancelRequested: ELSEWHERE,
    maxAttempts: ELSEWHERE,
    createdBy: ELSEWHERE,
    comments: ELSEWHERE,
    releaseReason: ELSEWHERE,
    id: ['id', job.id],
    target: ['target', job.target],
    type: ['type', job.type],
    title: ['title', job.title],
    attempts: ['attempts', `${job.attempts} of ${job.maxAttempts}`],
    priority: ['priority', job.priority === 0 ? undefined : String(job.priority)],
    tags: ['tags', job.tags.length > 0 ? job.tags.join(', ') : undefined],
    createdAt: ['created', `${at(job.createdAt) ?? ''} by ${job.createdBy}`],
    updatedAt: ['changed', at(job.updatedAt)],
    runAt: ['runs at', at(job.runAt)],
    retryAt: ['retry at', at(job.retryAt)],
    startedAt: ['started', at(job.startedAt)],
    finishedAt: ['finished', at(job.finishedAt)],
    queuedMs: ['waited', job.queuedMs === undefined ? undefined : duration(job.queuedMs)],
    runMs: ['ran', job.runMs === undefined ? undefined : duration(job.runMs)],
    claimedBy: ['claimed by', job.claimedBy ?? undefined],
    leaseUntil: ['lease until', at(job.leaseUntil)],
    waitingFor: ['waiting for', job.waitingFor === undefined ? undefined : `${job.waitingFor} jobs`],
    parentId: ['parent', job.parentId],
    scheduleId: ['schedule', job.scheduleId],
    retry: ['retry', retryText(job.retry)],
  };
}

function retryText(retry: Job['retry']): string | undefined {
  if (retry === undefined) return undefined;
  const { mode, max, backoffMs, count } = retry;
  const waits = backoffMs === null ? '' : `, first after ${duration(backoffMs)}`;
  return `${mode}, ${max} at most${waits}, ${count} so far`;
}

function whenText(iso: string | null | undefined, nowMs: number): string | undefined {
  return iso === null || iso === undefined ? undefined : `${iso} (${relative(iso, nowMs)})`;
}

function spoken(field: string, is: ShownField['is']): string {
  const name = is === 'duration' ? field.replace(/Ms$/, '') : field;
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function said(value: unknown, is: ShownField['is'], nowMs: number): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (is === 'duration' && typeof value === 'number') return duration(value);
  if (typeof value === 'string') return is === 'time' ? whenText(value, nowMs) : value;
  return Array.isArray(value) ? value.join(', ') : JSON.stringify(value);
}

/** What may take more than a line, under its name. */
const TEXTS: { readonly [K in keyof Job]?: string } = {
  description: 'description',
  spec: 'spec',
  params: 'params',
  meta: 'meta',
  progress: 'progress',
  result: 'result',
  error: 'error',
};

function texts({ sop, checkpoint, answers = [], ...job }: Job & Partial<ClaimedJob>): Line[] {
  return [
    ...Object.entries(TEXTS).flatMap(([field, name]) => {
      const value = job[field as keyof Job];
      return isEmpty(field, value) ? [] : block(name, value);
    }),
    ...block('how to', sop ?? undefined),
    ...block('checkpoint', checkpoint),
    ...answers.flatMap(({ question, answer, by }) => [
      ...block('asked', question),
      ...block(`${by} said`, answer),
    ]),
  ];
}

/** A job that was given no meta has an empty one. */
function isEmpty(field: string, value: unknown): boolean {
  if (value === null || value === '') return true;
  return field === 'meta' && typeof value === 'object' && Object.keys(value).length === 0;
}
