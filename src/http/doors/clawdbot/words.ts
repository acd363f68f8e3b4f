/** The words of this door, and how it says no. */

import type { BotPriority } from '../../../domain/bot.ts';
import { BOT_PRIORITIES } from '../../../domain/bot.ts';
import { type ErrorCode, SpineError } from '../../../domain/error.ts';
import { BOT_STATUSES, type BotStatus } from '../../../domain/statuses.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

export function problem(field: string, words: string): SpineError {
  return new SpineError('bad_request', { field, problem: words });
}

export function missing(words: string, code: ErrorCode = 'not_found'): SpineError {
  return new SpineError(code, { problem: words });
}

export function statusNamed(word: unknown): BotStatus {
  const status = BOT_STATUSES.find((each) => each === word);
  if (status !== undefined) return status;
  if (word === undefined || word === null || word === '') throw problem('status', 'status is required');
  throw problem('status', `Invalid status. Must be one of: ${BOT_STATUSES.join(', ')}`);
}

const PRIORITIES = Object.keys(BOT_PRIORITIES) as BotPriority[];

export function priorityNamed(word: unknown): number {
  const priority = PRIORITIES.find((each) => each === word);
  if (priority !== undefined) return BOT_PRIORITIES[priority];
  throw problem('priority', `Invalid priority. Must be one of: ${PRIORITIES.join(', ')}`);
}
