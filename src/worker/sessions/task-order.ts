/** A claimed job as a session is to do it. */

import type { ClaimedJob } from '../../client/types.ts';
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

export function taskOrder(job: ClaimedJob, terms: OrderTerms): SessionOrder {
  const spec = specOf(job.spec);
  const workingDir = textOf(spec, 'workingDir');
  const prompt = taskPrompt({
    id: job.id,
    title: job.title ?? `#${job.no}`,
    owner: job.target,
    workingDir: workingDir ?? terms.defaultDir ?? TASK_WORKING_DIR,
    description: job.description ?? '',
    instructions: textOf(spec, 'instructions') ?? textOf(spec, 'message'),
    deliverables: textOf(spec, 'deliverables'),
    steps: stepsOf(spec['steps']),
    url: terms.url,
  });
  return {
    id: terms.sessionId,
    prompt,
    workingDir,
    ...commonTerms(spec, terms),
    env: {
      SPINE_URL: terms.url,
      // It opens this job and nothing else, and ends with the lease.
      SPINE_TOKEN: `run.${job.id}.${job.leaseToken}`,
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
    workingDir: textOf(spec, 'workingDir'),
    ...commonTerms(spec, terms),
    env: { SPINE_URL: terms.url, ...traceOf(job) },
  };
}

/** So that what the session traces stands in the trace of its job. */
function traceOf({ traceparent }: ClaimedJob): Record<string, string> {
  return traceparent === undefined ? {} : { TRACEPARENT: traceparent };
}

type Spec = Readonly<Record<string, unknown>>;

function commonTerms(spec: Spec, terms: OrderTerms) {
  const { timeoutMs: wanted } = spec;
  const timeoutMs = typeof wanted === 'number' && wanted > 0 ? wanted : terms.timeoutMs;
  return {
    model: textOf(spec, 'model') ?? MODEL,
    thinking: textOf(spec, 'thinking') ?? THINKING,
    channel: textOf(spec, 'channel') ?? CHANNEL,
    timeoutMs: Math.min(timeoutMs, terms.timeoutMaxMs),
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
