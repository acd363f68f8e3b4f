/** Bots: users that log in and work. A bot holds its jobs by its name alone, without a token, and renews no lease. */

import { ownPriority } from './priority.ts';
import { isFinal, type Job, type State } from './job.ts';
import { isJsonObject } from './json-object.ts';
import { metaFacts } from './meta.ts';
import type { BotStatus } from './statuses.ts';

/** Work that is nobody's yet. */
export const UNASSIGNED = 'any';

/** The door at which bots claim: it can be paused. */
export const BOT_DOOR = 'clawdbot';

export const BOT_PRIORITIES = { low: 0, medium: 10, high: 20, urgent: 30 } as const;
export type BotPriority = keyof typeof BOT_PRIORITIES;
const FALLING: readonly BotPriority[] = ['urgent', 'high', 'medium', 'low'];

/** Other doors have numbers between the words, and beyond them. */
export function botPriorityOf(priority: number): BotPriority {
  return FALLING.find((word) => ownPriority(priority) >= BOT_PRIORITIES[word]) ?? 'low';
}

/** Whose job it is: who holds it or held it last, else whom it waits for. */
export function assigneeOf({ claimedBy, target }: Pick<Job, 'claimedBy' | 'target'>): string | null {
  return claimedBy ?? (target === UNASSIGNED ? null : target);
}

export type BotStep = 'claim' | 'complete' | 'fail' | 'release' | 'retry';

/** What leads a job to a status; null where its bot may not. Only an admin opens what has ended. */
export function botSteps(status: BotStatus, state: State, isAdmin: boolean): readonly BotStep[] | null {
  const anew = (steps: readonly BotStep[]): readonly BotStep[] | null =>
    isAdmin ? ['retry', ...steps] : null;
  switch (status) {
    case 'pending':
      if (state === 'running') return ['release'];
      return isFinal(state) ? anew([]) : [];
    case 'in_progress':
      if (state === 'running') return [];
      return isFinal(state) ? anew(['claim']) : ['claim'];
    case 'completed':
      if (state === 'running') return ['complete'];
      if (state === 'done') return [];
      return isFinal(state) ? anew(['claim', 'complete']) : ['claim', 'complete'];
    case 'failed':
      if (state === 'running') return ['fail'];
      if (state === 'done') return anew(['claim', 'fail']);
      return isFinal(state) ? [] : ['claim', 'fail'];
  }
}

/** Which jobs of a bot to list. */
export interface HeldFilter {
  readonly states: readonly State[];
  readonly typeNo: number | null;
  /** Only those that are retries. */
  readonly retries: boolean;
  /** So many are looked at: of those that ended, the last ends. */
  readonly limit: number;
}

/** Where a job stands in a list of tasks: the more urgent first, of those the newer. */
export interface RankedJob {
  readonly no: number;
  /** The number behind the word of its priority. */
  readonly rank: number;
}

/** A part of all jobs that a list is asked for, from one number down to another. */
export interface RankedWindow {
  /** The first of them. */
  readonly ranked: readonly RankedJob[];
  /** How many there are in it. */
  readonly size: number;
  /** From where the next part is to be read; null when there is none. */
  readonly next: number | null;
}

export interface RunningTask {
  readonly id: string;
  readonly title: string | null;
  readonly startedAt: number | null;
}

/** What a bot says of its retries, for those that count them by themselves. It is part of the job's meta. */
interface CountedRetries {
  readonly retriesCounted?: { readonly job: string; readonly count: number };
}

/** A retry that is a job of its own takes over the meta, and not the count. At other doors it is whatever its maker likes. */
export function countedRetries({ id }: Pick<Job, 'id'>, meta: string | null): number {
  const said = meta === null ? null : metaFacts(meta)['retriesCounted'];
  if (!isJsonObject(said) || said['job'] !== id) return 0;
  const { count } = said;
  return typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : 0;
}

export function withRetryCounted({ id }: Pick<Job, 'id'>, meta: string | null): string {
  const counted: CountedRetries = {
    retriesCounted: { job: id, count: countedRetries({ id }, meta) + 1 },
  };
  return JSON.stringify(counted);
}

/** Why the work failed, as whoever did it has said: in its result, else in its last update. */
export function failureOf(result: string | null, lastUpdate: string | null): string | null {
  const value: unknown = JSON.parse(result ?? 'null');
  const said = typeof value === 'object' && value !== null ? (value as { error?: unknown }).error : undefined;
  if (typeof said === 'string' && said !== '') return said;
  return said === undefined || said === null || said === '' ? lastUpdate : JSON.stringify(said);
}
