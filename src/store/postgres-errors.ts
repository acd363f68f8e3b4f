/** Which of PostgreSQL's errors mean "not now", and which mean the disk is full. */

import { SpineError } from '../domain/error.ts';
import { NoAnswer } from './postgres-session.ts';

const DISK_FULL = '53100';
const TOO_MANY_CONNECTIONS = '53300';
/** Connection, shutdown, resource and lock-wait classes: the same call may work in a moment. */
const PASSING = /^(08|53|57|55P03|25P03|25006)/;
const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNABORTED',
  'ENOENT',
]);
const DRIVER =
  /Connection terminated|connection is (closed|not queryable)|Client (was closed|has encountered)|timeout (expired|exceeded)|not queryable/i;

/** Classes that end the connection, so that nobody answered what was asked last. */
const ENDING = /^(08|57P|25P03|25P04)/;

/** The connection is gone, and with it the answer: what was sent may have been done. */
export function lost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code !== null && (ENDING.test(code) || NETWORK.has(code))) return true;
  if (error instanceof NoAnswer || DRIVER.test(error.message)) return true;
  return error instanceof AggregateError && error.errors.some(lost);
}

/** No room for one more connection; those that are open work on. */
export function hasNoRoom(error: unknown): boolean {
  return error instanceof Error && codeOf(error) === TOO_MANY_CONNECTIONS;
}

/** It does not work now, and may in a moment. */
function unavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  return lost(error) || (code !== null && PASSING.test(code));
}

export function translate(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof SpineError) return error;
  if (codeOf(error) === DISK_FULL) return new SpineError('disk_full', {}, { cause: error });
  return unavailable(error) ? new SpineError('store_unavailable', {}, { cause: error }) : error;
}

function codeOf(error: Error): string | null {
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}
