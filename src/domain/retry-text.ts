/** How a retry that is a task of its own is told from what it does again: in its title, and in its description. */

import type { Job, JobInput } from './job.ts';
import { LIMITS } from './limits.ts';
import { summaryOf } from './output.ts';

const MARK = 'PREVIOUS ATTEMPT FAILED: ';
const BEFORE_MARK = '\n\n';
/** Of what went wrong and of the advice, so much is told. */
const WORDS_CHARS = 1_000;

export interface FailedTry {
  readonly reason: string;
  /** What a model said to do differently; null without one. */
  readonly advice: string | null;
}

/** Whether its retries are told so: those under `presence`, and whatever follows on such a retry. */
export function tellsRetries(job: Pick<Job, 'leasePolicy' | 'retryCount'>, title: string | null): boolean {
  if (job.leasePolicy === 'presence') return true;
  return job.retryCount > 0 && (title ?? '').endsWith(suffix(job.retryCount));
}

/** The title without what its own retry has added. */
export function baseTitle(title: string, retryCount: number): string {
  const own = suffix(retryCount);
  return retryCount > 0 && title.endsWith(own) ? title.slice(0, -own.length) : title;
}

/** What the retry of a job is asked to do. */
export function retryInput(
  input: JobInput,
  { retryCount, retryMax }: Pick<Job, 'retryCount' | 'retryMax'>,
  failed: FailedTry,
): JobInput {
  const next = retryCount + 1;
  const block = [
    `${MARK}${pointed(told(failed.reason))}`,
    ...(failed.advice === null ? [] : [pointed(told(failed.advice))]),
    `This is retry ${next} of ${retryMax}. Please complete the task.`,
  ].join('\n');
  const base = baseDescription(input.description, retryCount);
  return {
    ...input,
    title: input.title === null ? null : titled(baseTitle(input.title, retryCount), next),
    description: base === '' ? block : `${base}${BEFORE_MARK}${block}`,
  };
}

function titled(base: string, retry: number): string {
  const added = suffix(retry);
  return `${base.slice(0, LIMITS.titleChars - added.length).toWellFormed()}${added}`;
}

function suffix(retry: number): string {
  return ` (retry ${retry})`;
}

/** The description without what its own retry has added: the last such block, in which nothing can look like another one. */
function baseDescription(description: string | null, retryCount: number): string {
  const text = description ?? '';
  if (retryCount === 0) return text;
  if (text.startsWith(MARK) && !text.includes(BEFORE_MARK + MARK)) return '';
  const at = text.lastIndexOf(BEFORE_MARK + MARK);
  return at === -1 ? text : text.slice(0, at);
}

/** On one line. */
function told(text: string): string {
  const line = summaryOf(text);
  const head = line.slice(0, WORDS_CHARS);
  return head === '' ? 'no reason was given' : head.isWellFormed() ? head : head.slice(0, -1);
}

function pointed(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
