/**
 * What the operator's chat is told, a line for each event, in Telegram's Markdown. Every value that somebody else has
 * written is bounded, kept on its line and escaped, so that nothing in it is taken for markup.
 */

import { bold, escaped } from './chat-markup.ts';
import { isoTime } from './iso-time.ts';
import { isFinal, type Job, type Outcome } from './job.ts';
import { rawOutput, summaryOf } from './output.ts';
import { hasLineage } from './retry.ts';

/** Of one value in a line. All of a line is far below what one message takes. */
const VALUE_CHARS = 300;
/** Of a result that is an object, so many fields are told. */
const FIELDS_TOLD = 6;

type Ended = Pick<
  Job,
  'state' | 'cause' | 'retryAt' | 'retryMode' | 'leasePolicy' | 'retryCount' | 'attempts'
> & {
  readonly claimedBy: string | null;
};

/** Whether a retry comes is not known before the job is settled; a worker that went away is no question. */
export function isToldWhenSettled({
  state,
  retryAt,
  cause,
}: Pick<Job, 'state' | 'retryAt' | 'cause'>): boolean {
  return state === 'failed' && retryAt !== null && cause !== 'stale';
}

/** How a job has ended, when that is for people to know; null when it has not, or somebody stopped it. */
export function endText(job: Ended, title: string, outcome: Outcome): string | null {
  if (!isFinal(job.state)) return null;
  const worker = job.claimedBy ?? 'a worker';
  if (job.state === 'done') return completedText(title, worker, resultSummary(outcome.result));
  if (job.state === 'dead') return exhaustedText(title, attemptsOf(job));
  if (job.state !== 'failed') return null;
  const again = job.retryAt !== null;
  if (again && job.cause === 'stale') return stuckText(title, worker);
  return failedText(title, failureReason(job, outcome), again);
}

export function completedText(title: string, worker: string, summary: string): string {
  const said = summary === '' ? '' : ` ${value(summary)}`;
  return `${heading(title)} completed by ${value(worker)}.${said}`;
}

export function failedText(title: string, reason: string, retry: boolean): string {
  return `${heading(title)} failed. Reason: ${value(unpointed(reason))}. Retry: ${retry ? 'yes' : 'no'}`;
}

export function exhaustedText(title: string, attempts: number): string {
  const count = Math.max(1, attempts);
  return `${heading(title)} failed after ${count} attempt${count === 1 ? '' : 's'}. Needs human attention.`;
}

export function stuckText(title: string, worker: string): string {
  return `${heading(title)} stuck — ${value(worker)} offline. Returning to queue.`;
}

/** `of` is how many there may be at most. */
export function retryText(title: string, retry: number, of: number): string {
  return `Retry ${retry}/${of}: ${heading(title)} back in queue.`;
}

/** No retry was worth while. */
export function skipText(title: string, reason: string): string {
  return `${heading(title)} will not be retried: ${value(unpointed(reason))}. Needs human attention.`;
}

export function breakerText(type: string, failures: number, reason: string): string {
  return `${heading(type)} paused: ${failures} jobs in a row failed the same way. Reason: ${value(unpointed(reason))}. Resume it when the cause is gone.`;
}

export function limitText(provider: string, untilAt: number): string {
  return `${heading(provider)} is at its limit. Its work waits until ${isoTime(untilAt)} and no attempt is used up.`;
}

/** The number of tries that people are told of: retries of a lineage, or runs of the same job. */
function attemptsOf(job: Ended): number {
  return hasLineage(job) ? job.retryCount : job.attempts;
}

/** What came of the work, in a few words. */
export function resultSummary(resultJson: string | null): string {
  if (resultJson === null) return '';
  const { text } = rawOutput(resultJson, null);
  return summaryOf(fieldsTold(text) ?? text);
}

/** An object that says nothing in words is told field by field; null when it is something else. */
function fieldsTold(json: string): string | null {
  if (!json.startsWith('{')) return null;
  try {
    const fields = Object.entries(JSON.parse(json) as Record<string, unknown>);
    const { summary } = Object.fromEntries(fields);
    if (typeof summary === 'string') return summary;
    const told = fields.filter(([, each]) => typeof each !== 'object').slice(0, FIELDS_TOLD);
    return told.map(([name, each]) => `${name}: ${String(each)}`).join(', ');
  } catch {
    return null;
  }
}

/** What its holder said, else what Spine knows. */
export function failureReason(job: Pick<Job, 'cause'>, outcome: Outcome): string {
  return saidInOutcome(outcome) || unsaidReason(job);
}

export function saidInOutcome({ error, result }: Outcome): string {
  return summaryOf(error === null ? errorIn(result) : rawOutput(null, error).text);
}

/** The job's own `reason` is none: of one that failed it says why it was given back once before. */
export function unsaidReason({ cause }: Pick<Job, 'cause'>): string {
  return cause ?? 'none was given';
}

/** Some workers leave their error in the result. */
function errorIn(resultJson: string | null): string {
  if (resultJson === null || !resultJson.startsWith('{')) return '';
  const { error } = JSON.parse(resultJson) as { error?: unknown };
  return error === undefined || error === null ? '' : rawOutput(null, JSON.stringify(error)).text;
}

function heading(title: string): string {
  return bold(told(title));
}

function value(text: string): string {
  return escaped(told(text));
}

/** On one line, and no longer than anybody reads in a chat. */
function told(text: string): string {
  const line = summaryOf(text);
  if (line.length <= VALUE_CHARS) return line === '' ? '?' : line;
  const head = line.slice(0, VALUE_CHARS - 1);
  return `${head.isWellFormed() ? head : head.slice(0, -1)}…`;
}

function unpointed(text: string): string {
  return text.trimEnd().replace(/\.$/, '');
}
