/** A claimed job as a gateway is to do it: which agent, which session, which words. */

import { JobFailure } from '../client/errors.ts';
import type { Platform } from '../client/platform.ts';
import type { ClaimedJob } from '../client/types.ts';
import { isReplayed, planOf, type RunPlan } from '../prompt/plan.ts';
import { withHandedOn } from '../prompt/handed-on.ts';
import { type PromptParts, promptOf } from '../prompt/prompt.ts';
import { type PromptRecord, recordOf } from '../prompt/record.ts';

const NONCE_CHARS = 12;

export interface Assignment {
  readonly job: ClaimedJob;
  readonly plan: RunPlan | null;
  readonly agentId: string;
  readonly sessionKey: string;
  /** Whether it may be done a second time after a crash. */
  readonly replayed: boolean;
}

export function assignmentOf(job: ClaimedJob): Assignment {
  const plan = planOf(job);
  if (plan === null) {
    // Work from the queue is tried until it is done or its attempts are used up.
    const sessionKey = `spine:${turnOf(job)}`;
    return { job, plan, agentId: 'main', sessionKey, replayed: true };
  }
  const { id, agentId, preferredSessionKey, sessionTarget } = plan.schedule;
  const own = sessionTarget === 'main' ? 'main' : `scheduler:${id}:${job.id}`;
  const sessionKey = preferredSessionKey ?? own;
  return { job, plan, agentId, sessionKey, replayed: isReplayed(plan) };
}

/** Unique for every dispatch, and the same for whoever looks for it later: a gateway fails a key that it has seen. */
export function runKeyOf({ job, plan }: Assignment, begunAt: number): string {
  return plan === null ? turnOf(job) : `${job.id}:${begunAt}`;
}

/** The turn after an answer is another one of the same attempt. */
function turnOf({ id, attempt, questions = 0 }: ClaimedJob): string {
  return questions === 0 ? `${id}:${attempt}` : `${id}:${attempt}:${questions}`;
}

/** What only the moment of sending can say. */
export type Sending = Omit<PromptParts, 'plan' | 'message' | 'handedOn'>;

/** What is sent, and what is kept of it with the run; a job that no schedule made keeps nothing. */
export interface Prompt {
  readonly text: string;
  readonly record: PromptRecord | null;
  /** How many messages stand in it. */
  readonly messages: number;
}

/** The random end of an id. */
export function newNonce(platform: Platform): string {
  return platform.randomId().slice(-NONCE_CHARS);
}

/** The words of the job itself. */
export function messageOf({ job }: Assignment): string {
  const message = plainMessage(job.spec);
  if (message !== null) return message;
  throw new JobFailure('There is no message to send: spec is neither text nor an object with a message.', {
    requeue: false,
  });
}

export function promptFor(assignment: Assignment, sending: Sending): Prompt {
  const { plan, job } = assignment;
  const message = messageOf(assignment);
  if (plan === null) return { text: withHandedOn(message, job, sending.nonce), record: null, messages: 0 };
  const parts = { plan, message, handedOn: job, ...sending };
  const text = promptOf(parts);
  return { text, record: recordOf(parts, text), messages: parts.messages.length };
}

function plainMessage(spec: unknown): string | null {
  const message = typeof spec === 'object' && spec !== null && 'message' in spec ? spec.message : spec;
  return typeof message === 'string' && message !== '' ? message : null;
}
