/** One call, mostly a POST, to the world outside: bounded in time and size, never redirected, and quiet about where it went. */

import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http';
import { SendError } from './channel.ts';

// An import of node:http would load its WebSocket too, which takes every start 20 milliseconds.
const { request: plainRequest } = process.getBuiltinModule('node:http');
const { request: secureRequest } = process.getBuiltinModule('node:https');

const TIMEOUT_MS = 10_000;
/** What answers are read for is at their beginning. */
const ANSWER_BYTES = 65_536;

export interface Post {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: 'POST' | 'GET';
  readonly body: string;
  readonly signal: AbortSignal;
  /** Finds the address of a name, and may refuse it. */
  readonly lookup?: RequestOptions['lookup'];
  /** What to call the other side: its URL may hold a secret. */
  readonly who: string;
  /** How long all of it may take; 10 s unless said. */
  readonly timeoutMs?: number;
  /** How much of the answer is read. */
  readonly answerBytes?: number;
}

export interface PostAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export function post(given: Post): Promise<PostAnswer> {
  const { url, headers, body, signal, lookup, who } = given;
  const { method = 'POST', timeoutMs = TIMEOUT_MS, answerBytes = ANSWER_BYTES } = given;
  return new Promise((resolve, reject) => {
    const limit = AbortSignal.timeout(timeoutMs);
    const send = url.protocol === 'https:' ? secureRequest : plainRequest;
    const fail = (cause: unknown): void => reject(failure(who, cause, limit.aborted ? timeoutMs : null));
    const request = send(url, {
      method,
      // A connection of its own: a kept one would not ask again where the name leads.
      agent: false,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(body),
        ...headers,
      },
      signal: AbortSignal.any([signal, limit]),
      ...(lookup && { lookup }),
    });
    request.on('error', fail);
    request.on('response', (response) => void read(response, answerBytes).then(resolve, fail));
    request.end(body);
  });
}

async function read(response: IncomingMessage, answerBytes: number): Promise<PostAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= answerBytes) break;
  }
  const body = Buffer.concat(chunks).subarray(0, answerBytes).toString('utf8');
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

/** Of Node's errors only the code is told: their texts may hold the URL. */
function failure(who: string, cause: unknown, lateMs: number | null): SendError {
  if (cause instanceof SendError) return cause;
  if (lateMs !== null) return new SendError(`${who} did not answer within ${lateMs / 1_000} s`);
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
  return new SendError(`cannot reach ${who}: ${code}`);
}

/** Answers that say: never this one. Others may change their mind, or be set right by an operator. */
const FINAL = new Set([400, 410, 413, 414, 415, 422]);

export function refused(
  who: string,
  { status, headers }: PostAnswer,
  words = '',
  retryAfterMs?: number,
): SendError {
  const waitMs = retryAfterMs ?? retryAfter(headers);
  const trouble = { final: FINAL.has(status), ...(waitMs !== null && { retryAfterMs: waitMs }) };
  return new SendError(`${who} answered ${status}${words === '' ? '' : `: ${words.slice(0, 300)}`}`, trouble);
}

/** In seconds; a date is as rare as it is useless here. */
function retryAfter(headers: IncomingHttpHeaders): number | null {
  const seconds = Number(headers['retry-after'] ?? NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds * 1_000) : null;
}

/** The fields of a JSON object; none when it is something else. */
export function fieldsOf(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
