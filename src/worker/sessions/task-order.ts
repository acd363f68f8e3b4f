/** A claimed job as a session is to do it. */

import type { ClaimedJob } from '../../client/types.ts';
import { HOW_TO_ASK } from '../../prompt/asking.ts';
import { handedOnBlock } from '../../prompt/handed-on.ts';
import { messagesBlock } from '../../prompt/messages.ts';
import { quoteSection } from '../../prompt/quote.ts';
import { TASK_WORKING_DIR, taskPrompt } from '../../prompt/task.ts';
import type { SessionOrder } from './session.ts';

const MODEL = 'anthropic/claude-sonnet-4-5';
const THINKING = 'low';
const CHANNEL = 'internal';

export interface OrderTerms {
  readonly sessionId: string;
  /** Where the agent reaches the server. */
  readonly url: string;
  /** Where a session works whose task names no folder; null where nobody said. */
  readonly defaultDir: string | null;
  readonly timeoutMs: number;
  readonly timeoutMaxMs: number;
  readonly leaseMs: number;
}

export interface TaskTerms extends OrderTerms {
  /** New for every prompt. */
  readonly nonce: string;
  readonly mayAsk: boolean;
  /** The session has no environment: what it may call with stands in its prompt. */
  readonly tokenInPrompt: boolean;
}

export function taskOrder(job: ClaimedJob, terms: TaskTerms): SessionOrder {
  const spec = specOf(job.spec);
  const workingDir = textOf(spec, 'workingDir');
  // It opens this job and nothing else, and ends with the lease.
  const token = `run.${job.id}.${job.leaseToken}`;
  const prompt = taskPrompt({
    id: job.id,
    title: job.title ?? `#${job.no}`,
    owner: job.target,
    workingDir: workingDir ?? terms.defaultDir ?? TASK_WORKING_DIR,
    description: job.description ?? '',
    instructions: textOf(spec, 'instructions') ?? textOf(spec, 'message'),
    sop: job.sop ?? null,
    deliverables: textOf(spec, 'deliverables'),
    steps: stepsOf(spec['steps']),
    url: terms.url,
    token: terms.tokenInPrompt ? token : '$SPINE_TOKEN',
  });
  return {
    id: terms.sessionId,
    prompt: withTold(terms.mayAsk ? `${prompt}\n${HOW_TO_ASK}\n` : prompt, job, terms.nonce),
    mayAsk: terms.mayAsk,
    conversation: conversationOf(job.id),
    continues: job.attempt > 1 || job.checkpoint !== undefined || (job.answers ?? []).length > 0,
    workingDir,
    ...commonTerms(spec, terms),
    env: {
      SPINE_URL: terms.url,
      SPINE_TOKEN: token,
      SPINE_JOB_ID: job.id,
      ...traceOf(job),
    },
  };
}

/** Of a job that is nothing but a session that somebody asked for. */
export function spawnedOrder(job: ClaimedJob, terms: OrderTerms): SessionOrder {
  const spec = specOf(job.spec);
  return {
    id: terms.sessionId,
    prompt: textOf(spec, 'prompt') ?? '',
    mayAsk: false,
    conversation: null,
    continues: false,
    workingDir: textOf(spec, 'workingDir'),
    ...commonTerms(spec, terms),
    env: { SPINE_URL: terms.url, ...traceOf(job) },
  };
}

/** What came with the claim: earlier results, answers, the last checkpoint, messages. All of it is quoted. */
function withTold(prompt: string, job: ClaimedJob, nonce: string): string {
  const messages = (job.messages ?? []).map((message) => ({ ...message, sender: message.from_agent }));
  const told = [handedOnBlock(job, nonce), messagesBlock(messages, nonce)].filter((block) => block !== null);
  return told.length === 0 ? prompt : [quoteSection(nonce), ...told, prompt].join('\n\n');
}

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[89ab][\da-f]{3}-[\da-f]{12}$/;
const VERSION_AT = 14;

/**
 * Made of the job's id and nothing else: nobody who describes a task can name the conversation of another one. Programs
 * take ids of version 4.
 */
function conversationOf(jobId: string): string | null {
  return UUID.test(jobId) ? `${jobId.slice(0, VERSION_AT)}4${jobId.slice(VERSION_AT + 1)}` : null;
}

/** So that what the session traces stands in the trace of its job. */
function traceOf({ traceparent }: ClaimedJob): Record<string, string> {
  return traceparent === undefined ? {} : { TRACEPARENT: traceparent };
}

type Spec = Readonly<Record<string, unknown>>;

function commonTerms(spec: Spec, terms: OrderTerms) {
  const { timeoutMs: wanted } = spec;
  const askedMs = typeof wanted === 'number' && wanted > 0 ? Math.min(wanted, terms.timeoutMaxMs) : null;
  return {
    model: textOf(spec, 'model') ?? MODEL,
    thinking: textOf(spec, 'thinking') ?? THINKING,
    channel: textOf(spec, 'channel') ?? CHANNEL,
    timeoutMs: askedMs ?? Math.min(terms.timeoutMs, terms.timeoutMaxMs),
    askedMs,
    leaseMs: terms.leaseMs,
  };
}

/** A job may have any spec: a text says what to do. */
function specOf(spec: unknown): Spec {
  if (typeof spec === 'string') return spec === '' ? {} : { instructions: spec };
  return typeof spec === 'object' && spec !== null && !Array.isArray(spec) ? (spec as Spec) : {};
}

function textOf(spec: Spec, name: string): string | null {
  const value = spec[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

function stepsOf(steps: unknown): string[] {
  return Array.isArray(steps) ? steps.filter((step) => typeof step === 'string') : [];
}
