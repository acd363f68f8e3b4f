/**
 * Pages of other origins that the operator lets call: as the Fetch standard has it, with the token that each request brings.
 * No cookie and no password of the browser's counts here, so none is asked for.
 */

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

const METHODS = 'GET, POST, PUT, PATCH, DELETE';
/** What our routes read beside what a page may send anyway. */
const REQUEST_HEADERS =
  'authorization, content-type, idempotency-key, x-lease-token, last-event-id, prefer, traceparent, if-none-match, mcp-protocol-version';
/** What a page may read of an answer. */
const ANSWER_HEADERS =
  'content-disposition, etag, idempotency-replayed, retry-after, x-request-id, x-truncated';
const PREFLIGHT_LASTS_S = '600';

export interface Origins {
  /** Whether pages of this origin may call. */
  has(origin: string | undefined): boolean;
  /** Says in the answer that its page may read it. */
  permit(headers: IncomingHttpHeaders, answer: ServerResponse): void;
  /** Whether the browser only asks what its page may send; then the answer says it. */
  isPreflight(method: string, headers: IncomingHttpHeaders, answer: ServerResponse): boolean;
}

export function allowOrigins(list: readonly string[]): Origins {
  const origins = new Set(list);
  return {
    has: (origin) => origin !== undefined && origins.has(origin),
    permit: ({ origin }, answer) => {
      if (origins.size === 0) return;
      // Whoever keeps answers must not show one page what was said to another.
      answer.setHeader('vary', 'origin');
      if (origin === undefined || !origins.has(origin)) return;
      answer.setHeader('access-control-allow-origin', origin);
      answer.setHeader('access-control-expose-headers', ANSWER_HEADERS);
    },
    isPreflight: (method, headers, answer) => {
      const { origin } = headers;
      if (method !== 'OPTIONS' || origin === undefined || !origins.has(origin)) return false;
      if (headers['access-control-request-method'] === undefined) return false;
      answer.setHeader('access-control-allow-methods', METHODS);
      answer.setHeader('access-control-allow-headers', REQUEST_HEADERS);
      answer.setHeader('access-control-max-age', PREFLIGHT_LASTS_S);
      return true;
    },
  };
}
