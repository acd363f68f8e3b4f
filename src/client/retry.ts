/** Whether a failed call may be sent again, and when. */

import { SpineApiError, SpineConnectionError } from './errors.ts';
import type { Platform } from './platform.ts';

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 10_000;
/** A server that asks for more patience than this has its answer passed on to the caller. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** Full jitter: anything between nothing and a ceiling that doubles, so that callers do not come back together. */
export function backoffMs(
  { random }: Pick<Platform, 'random'>,
  failures: number,
  longestMs = LONGEST_DELAY_MS,
): number {
  return random() * Math.min(longestMs, FIRST_DELAY_MS * 2 ** Math.min(failures, 20));
}

/** The wait before the next try, never shorter than the server asked for. */
export function delayMs(platform: Platform, failures: number, error: unknown): number {
  const asked = error instanceof SpineApiError ? (error.retryAfterMs ?? 0) : 0;
  return asked + backoffMs(platform, failures);
}

/**
 * `repeatable` says that the server does the call once however often it comes. Other calls are sent again
 * only when the first one certainly changed nothing.
 */
export function mayRetry(error: unknown, repeatable: boolean): boolean {
  if (error instanceof SpineConnectionError) return repeatable || !error.mayHaveArrived;
  if (!(error instanceof SpineApiError)) return false;
  if ((error.retryAfterMs ?? 0) > LONGEST_RETRY_AFTER_MS) return false;
  return changedNothing(error) || (repeatable && isPassing(error));
}

/** Spine's own words for "not now". The same status from a proxy says nothing about what happened behind it. */
const NOT_NOW = new Set(['queue_full', 'overloaded', 'shutting_down', 'store_unavailable', 'disk_full']);

function changedNothing({ code }: SpineApiError): boolean {
  return NOT_NOW.has(code);
}

/** Trouble that may be over soon. A 409 is none: it needs another decision, not the same call. */
function isPassing({ status }: SpineApiError): boolean {
  return status === 408 || status === 429 || status >= 500;
}
