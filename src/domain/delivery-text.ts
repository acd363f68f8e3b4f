/** What people outside are told of a run or a job. */

import type { Job, Outcome } from './job.ts';
import { LIMITS } from './limits.ts';
import { rawOutput, sentinelOf, summaryOf } from './output.ts';
import type { ScheduleSpec } from './schedule.ts';
import type { Question } from './question.ts';
import type { EndEvent } from './subscription.ts';
import type { WorkerSlot } from './worker-slot.ts';
import { runStatusOf } from './statuses.ts';

export interface Told {
  readonly kind: 'result' | 'failure';
  readonly text: string;
}

/** What a schedule's end tells; null when its mode, or what the run said, asks for silence. */
export function toldOfRun(
  job: Pick<Job, 'id' | 'state' | 'cause'>,
  { name, deliveryMode, sessionTarget }: Pick<ScheduleSpec, 'name' | 'deliveryMode' | 'sessionTarget'>,
  { result, error }: Outcome,
): Told | null {
  if (deliveryMode === 'none') return null;
  const status = runStatusOf(job);
  if (status === 'error' || status === 'timeout' || status === 'crashed')
    return {
      kind: 'failure',
      text: bounded(`${FAILURE[status]}: ${name}${after(errorText(error))}`, job.id),
    };
  // The main session answers where it is; no reply comes back here.
  if (status !== 'ok' || sessionTarget === 'main') return null;
  const { text } = rawOutput(result, null);
  if (deliveryMode === 'announce' && isSentinel(text)) return null;
  return {
    kind: 'result',
    text: text.trim() === '' ? `Job done: ${name} (no output)` : bounded(text, job.id),
  };
}

const FAILURE = {
  error: '⚠️ Job failed',
  timeout: '[timeout] Job timed out',
  crashed: '⚠️ Job crashed',
} as const;

function isSentinel(text: string): boolean {
  const word = sentinelOf(text);
  return word !== null && word !== 'TASK_FAILED';
}

export function toldOfApproval(id: string, title: string): string {
  const [approve, reject] = [`spine approvals approve ${id}`, `spine approvals reject ${id}`];
  return plain(`⚠️ Job '${title}' requires approval.\nApprove: ${approve}\nReject: ${reject}`);
}

export function toldOfQuestion(
  { id, text, choices }: Pick<Question, 'id' | 'text' | 'choices'>,
  title: string,
): string {
  const said = choices === null ? '' : `\n\nOne of: ${choices.join(', ')}`;
  return plain(`❓ Job '${title}' asks:\n${text}${said}\n\nAnswer: spine questions answer ${id} <answer>`);
}

const EVENT: Readonly<Record<EndEvent, string>> = {
  done: '✅ Job done',
  failed: '⚠️ Job failed',
  dead: '⚠️ Job dead, its attempts are used up',
  cancelled: 'Job cancelled',
};

/** One line of what happened, and the beginning of what was said. */
export function toldOfEvent(
  job: Pick<Job, 'id' | 'no' | 'reason'>,
  event: EndEvent,
  title: string,
  { result, error }: Outcome,
): string {
  const said = event === 'done' ? summaryOf(rawOutput(result, null).text) : summaryOf(errorText(error));
  // Of one that failed it says why it was given back once before.
  const unsaid = event === 'cancelled' ? (job.reason ?? '') : '';
  return plain(`${EVENT[event]}: ${title} (#${job.no})${after(said === '' ? unsaid : said)}`);
}

export function toldOfStaleSlot({ slot, title }: Pick<WorkerSlot, 'slot' | 'title'>): string {
  const task = title === null ? '' : `\nIts task goes back: ${title}`;
  return plain(`⚠️ The worker ${slot} was not heard from and is marked offline.${task}`);
}

function errorText(error: string | null): string {
  return error === null ? '' : rawOutput(null, error).text;
}

function after(text: string): string {
  return text.trim() === '' ? '' : `\n\n${text.trim()}`;
}

function bounded(text: string, runId: string): string {
  const whole = plain(text);
  if (whole.length <= LIMITS.deliveryChars) return whole;
  const head = whole.slice(0, LIMITS.deliveryChars);
  return `${head.isWellFormed() ? head : head.slice(0, -1)}…\n\n(cut; all of it: spine runs get ${runId})`;
}

/** No half characters, which nobody takes, and no NUL, which PostgreSQL does not. */
function plain(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}
