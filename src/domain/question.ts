/** The question: what the holder of a job must know to go on, asked of somebody else. The job waits for the answer. */

import type { EventDraft, JobEvent } from './event.ts';
import type { Job } from './job.ts';
import { raised } from './priority.ts';
import { endBadly } from './retry.ts';

/** `timed_out`: nobody answered, and there was no default. `closed`: the job ended before anybody did. */
export const QUESTION_STATUSES = ['open', 'answered', 'timed_out', 'closed'] as const;
export type QuestionStatus = (typeof QUESTION_STATUSES)[number];

/** As its asker says it; answers are JSON as text. */
export interface QuestionDraft {
  readonly id: string;
  readonly text: string;
  /** `@name` is an alias and means a person; any other name is an agent, or a person that only head speaks for. */
  readonly to: string;
  /** The only answers there are. */
  readonly choices: readonly string[] | null;
  /** JSON Schema of the answer. */
  readonly schema: string | null;
  readonly timeoutMs: number;
  /** What the end of the time means; null: the attempt has failed. */
  readonly fallback: string | null;
}

export interface Question extends Omit<QuestionDraft, 'timeoutMs'> {
  readonly no: number;
  readonly jobNo: number;
  /** The lineage: answers are for whoever goes on with the work. */
  readonly rootNo: number;
  readonly askedBy: string;
  readonly askedAt: number;
  readonly expiresAt: number;
  /** The lease that ended with it: asking once more under that one is answered with this question. */
  readonly leaseToken: string | null;
  readonly status: QuestionStatus;
  readonly answer: string | null;
  readonly answeredBy: string | null;
  readonly answeredAt: number | null;
}

/** A question as people look at it. */
export interface QuestionRecord extends Question {
  readonly jobId: string;
  readonly target: string;
  readonly title: string | null;
}

/** Whose open questions are counted together: a principal's, or those of all runs of a schedule. */
export interface Asker {
  readonly name: string;
  readonly scheduleId: string | null;
  /** Only those that went there. */
  readonly to?: string;
}

/** What an answered question leaves for the next holder. */
export type Answered = Pick<Question, 'text' | 'answer' | 'answeredBy' | 'answeredAt'>;

/** Newest first. */
export interface QuestionFilter {
  readonly open?: boolean;
  readonly to?: string;
  readonly jobNo?: number;
  /** Only those of jobs for these targets, or asked of `reader`; null: all. */
  readonly targets: readonly string[] | null;
  readonly reader: string;
  /** Only those before this number. */
  readonly before?: number;
  readonly limit: number;
}

/** Who answered a question that nobody answered in time. */
export const TIMEOUT = 'timeout';

/** The alias that the question goes to; null when it is asked of a name. */
export function aliasAsked({ to }: Pick<Question, 'to'>): string | null {
  return to.startsWith('@') ? to.slice(1) : null;
}

/** What a job is blocked on, as people see it: only pools and lines have a name of their own. */
export function blockedOnOf({ blockedOn, question }: Pick<Job, 'blockedOn' | 'question'>): string | null {
  return question === null ? blockedOn : 'answer';
}

/** The answer has come: the job is ready, before all that never left the queue. */
export function goesOn(job: Job, now: number): Job {
  return { ...job, state: 'queued', question: null, priority: raised(job.priority), updatedAt: now };
}

/** Nobody answered in time and there is no default: the attempt that asked has failed, by the job's own rules. */
export function unanswered(
  job: Job,
  { id, text }: Pick<Question, 'id' | 'text'>,
  now: number,
): { job: Job; events: EventDraft[]; error: string } {
  // Given back when it asked; without it a job that asks in vain would ask for ever.
  const next: Job = { ...job, question: null, attempts: job.attempts + 1 };
  const state = endBadly(next, true, now, 'timeout');
  const facts = { question: id, attempts: next.attempts, state };
  const events: EventDraft[] = [{ kind: 'job.timeout', by: TIMEOUT, facts }];
  if (state === 'dead') events.push({ kind: 'job.dead', by: TIMEOUT, facts: { reason: 'unanswered' } });
  return { job: next, events, error: JSON.stringify(`Nobody answered in time: ${text}`) };
}

/** What an event says of work that was put off because there was no room for its question. */
export const NO_ROOM = 'no_room_to_ask';
/** Each time the work is done once more up to its question: an hour of trying is enough. */
const TRIES = 12;

/** Whether work that found no room again has tried for long enough: as long as it would have waited for its answer, at most. */
export function hasAskedInVain(
  events: readonly JobEvent[],
  { timeoutMs }: QuestionDraft,
  now: number,
): boolean {
  const since = events.findLastIndex(({ kind }) => kind === 'job.asked' || kind === 'job.reopened');
  const tries = events.slice(since + 1).filter(({ facts }) => facts?.['why'] === NO_ROOM);
  const [first] = tries;
  return first !== undefined && (tries.length + 1 >= TRIES || now - first.at >= timeoutMs);
}
