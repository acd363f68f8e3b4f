/**
 * Pages of other origins that the operator lets call: as the Fetch standard has it, with the token that each request brings.
 * No cookie and no password of the browser's counts here, so none is asked for.
 */

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Door } from './door.ts';

const METHODS = 'GET, POST, PUT, PATCH, DELETE';
/** What every door reads, beside what a page may send anyway, and what a page may read of its answers. */
const REQUEST_HEADERS = ['authorization', 'content-type', 'if-none-match'];
const ANSWER_HEADERS = ['content-disposition', 'etag', 'retry-after', 'x-request-id'];
const PREFLIGHT_LASTS_S = '600';

export interface Origins {
  /** Whether pages of this origin may call. */
  has(origin: string | undefined): boolean;
  /** Says in the answer that its page may read it. */
  permit(headers: IncomingHttpHeaders, answer: ServerResponse): void;
  /** Whether the browser only asks what its page may send; then the answer says it. */
  isPreflight(method: string, headers: IncomingHttpHeaders, answer: ServerResponse): boolean;
}

/** The headers that the doors name: their routes read the ones, and answer with the others. */
function headersOf(doors: readonly Door[]): { readonly asked: string; readonly answered: string } {
  const ofAuth = doors.flatMap(({ auth }) =>
    auth.scheme['in'] === 'header' ? [String(auth.scheme['name'])] : [],
  );
  const ofRoutes = doors.flatMap(({ routes }) =>
    routes.flatMap(({ headers }) => Object.keys(headers?.properties ?? {})),
  );
  const listed = (names: readonly string[]): string =>
    [...new Set(names.map((name) => name.toLowerCase()))].join(', ');
  return {
    asked: listed([...REQUEST_HEADERS, ...ofAuth, ...ofRoutes]),
    answered: listed([...ANSWER_HEADERS, ...doors.flatMap(({ answerHeaders = [] }) => answerHeaders)]),
  };
}

export function allowOrigins(list: readonly string[], doors: readonly Door[]): Origins {
  const { asked, answered } = headersOf(doors);
  const origins = new Set(list);
  return {
    has: (origin) => origin !== undefined && origins.has(origin),
    permit: ({ origin }, answer) => {
      if (origins.size === 0) return;
      // Whoever keeps answers must not show one page what was said to another.
      answer.setHeader('vary', 'origin');
      if (origin === undefined || !origins.has(origin)) return;
      answer.setHeader('access-control-allow-origin', origin);
      answer.setHeader('access-control-expose-headers', answered);
    },
    isPreflight: (method, headers, answer) => {
      const { origin } = headers;
      if (method !== 'OPTIONS' || origin === undefined || !origins.has(origin)) return false;
      if (headers['access-control-request-method'] === undefined) return false;
      answer.setHeader('access-control-allow-methods', METHODS);
      answer.setHeader('access-control-allow-headers', asked);
      answer.setHeader('access-control-max-age', PREFLIGHT_LASTS_S);
      return true;
    },
  };
}
