/** Which of PostgreSQL's errors mean "not now", and which mean the disk is full. */

import { SpineError } from '../domain/error.ts';

const DISK_FULL = '53100';
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
  'ENOENT',
]);
const DRIVER =
  /Connection terminated|connection is (closed|not queryable)|Client (was closed|has encountered)|timeout (expired|exceeded)|not queryable/i;

/** The connection, or the whole server, cannot be used. */
export function unavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code !== null && (PASSING.test(code) || NETWORK.has(code))) return true;
  return DRIVER.test(error.message) || (error instanceof AggregateError && error.errors.some(unavailable));
}

export function translate(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof SpineError) return error;
  if (codeOf(error) === DISK_FULL) return new SpineError('disk_full', {}, { cause: error });
  return unavailable(error) ? new SpineError('store_unavailable', {}, { cause: error }) : error;
}

function codeOf(error: Error): string | null {
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}
