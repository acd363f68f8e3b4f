/** The two vocabularies of the bridge's clients, and ours: statuses and lanes, numbers and words of priority. */

import { BOT_PRIORITIES } from '../../../domain/bot.ts';
import { SpineError } from '../../../domain/error.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { TASK_STATUSES, type TaskStatus } from '../../../domain/statuses.ts';

/** Where a card lies on a board of lanes. */
export const LANE_OF: Readonly<Record<TaskStatus, string>> = {
  todo: 'queued',
  'in-progress': 'development',
  review: 'review',
  done: 'done',
  blocked: 'blocked',
};

const STATUS_OF_LANE: Readonly<Record<string, TaskStatus>> = {
  proposed: 'todo',
  queued: 'todo',
  development: 'in-progress',
  review: 'review',
  done: 'done',
  blocked: 'blocked',
};

export const STATUS_WORDS = [...new Set([...TASK_STATUSES, ...Object.keys(STATUS_OF_LANE)])];

/** A status and a lane mean the same, and either word is understood under either name. */
export function statusOf(status: string | undefined, lane: string | undefined): TaskStatus | null {
  const said = [status, lane].flatMap((word) => (word === undefined ? [] : [statusNamed(word)]));
  if (said.length === 2 && said[0] !== said[1]) throw problem('lane', 'and status must not differ');
  return said[0] ?? null;
}

function statusNamed(word: string): TaskStatus {
  return TASK_STATUSES.find((status) => status === word) ?? (STATUS_OF_LANE[word] as TaskStatus);
}

/** Higher is sooner; the words are those of other boards. */
const PRIORITY_OF: Readonly<Record<string, number>> = {
  P0: BOT_PRIORITIES.urgent,
  P1: BOT_PRIORITIES.high,
  P2: BOT_PRIORITIES.medium,
  P3: BOT_PRIORITIES.low,
  urgent: BOT_PRIORITIES.urgent,
  high: BOT_PRIORITIES.high,
  medium: BOT_PRIORITIES.medium,
  low: BOT_PRIORITIES.low,
};
export const PRIORITY_WORDS = Object.keys(PRIORITY_OF);

export function priorityOf(priority: number | string): number {
  return typeof priority === 'number' ? priority : (PRIORITY_OF[priority] ?? 0);
}

/** One of two names for the same. */
export function either<T>(
  names: readonly [string, string],
  one: T | undefined,
  other: T | undefined,
): T | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  if (JSON.stringify(one) === JSON.stringify(other)) return one;
  throw problem(names[1], `and ${names[0]} mean the same and must not differ`);
}

/** A list of texts where one text is wanted. */
export function joined(text: string | readonly string[] | undefined): string | undefined {
  return typeof text === 'string' || text === undefined ? text : text.map((line) => `- ${line}`).join('\n');
}

export function problem(field: string, words: string): SpineError {
  return new SpineError('bad_request', { field }, { message: `${field} ${words}.` });
}

export const TEXT_CHARS = LIMITS.descriptionChars;
