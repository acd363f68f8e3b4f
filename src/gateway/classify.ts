/** What a failed answer means for the caller: by `error.type`, since the gateway passes the model's statuses on as its own. */

import { GatewayError, type GatewayErrorKind } from './errors.ts';
import { fields, numberOf, parsed, textOf } from './json.ts';
import type { Usage } from './types.ts';

const QUOTED_CHARS = 500;

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** A status that is not 2xx, from the endpoint that runs turns. */
export function turnRefused(answer: HttpAnswer): GatewayError {
  const kind = httpKind(answer);
  const ran = kind === 'upstream' || kind === 'rate_limited' || kind === 'failed';
  const message =
    answer.status === 404
      ? 'the gateway does not serve chat completions: set gateway.http.endpoints.chatCompletions.enabled to true'
      : `the gateway answered ${answer.status}: ${reason(answer)}`;
  return new GatewayError(kind, message, { accepted: ran, retryAfterMs: retryAfterMs(answer) });
}

/** A status that is not 2xx, from any other endpoint. */
export function requestRefused(answer: HttpAnswer): GatewayError {
  const message = `the gateway answered ${answer.status}: ${reason(answer)}`;
  return new GatewayError(httpKind(answer), message, { retryAfterMs: retryAfterMs(answer) });
}

function httpKind(answer: HttpAnswer): GatewayErrorKind {
  const type = textOf(errorOf(answer)['type']);
  if (type === 'service_unavailable' || answer.status === 503) return 'draining';
  // 401 authentication_error is the model provider's refusal of the gateway's own key.
  if (type === 'authentication_error') return 'upstream';
  if (answer.status === 401 || answer.status === 403) return 'unauthorized';
  if (type === 'rate_limit_error' || answer.status === 429) return 'rate_limited';
  if (answer.status < 500) return 'refused';
  // 500 is what a turn that an operator stopped ends with, too.
  return answer.status === 500 ? 'failed' : 'upstream';
}

function errorOf(answer: HttpAnswer): Readonly<Record<string, unknown>> {
  return fields(fields(parsed(answer.body))['error']);
}

function reason(answer: HttpAnswer): string {
  return (textOf(errorOf(answer)['message']) ?? answer.body).slice(0, QUOTED_CHARS).trim();
}

function retryAfterMs(answer: HttpAnswer): number | null {
  const seconds = Number(answer.headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

/** An error frame that answers a WebSocket request. */
export function frameRefused(error: unknown): GatewayError {
  const { code, message, details, retryAfterMs } = fields(error);
  const text = (textOf(message) ?? 'the gateway gave no reason').slice(0, QUOTED_CHARS);
  return new GatewayError(frameKind(textOf(code), textOf(fields(details)['code']), text), text, {
    retryAfterMs: numberOf(retryAfterMs),
  });
}

function frameKind(code: string | null, detail: string | null, message: string): GatewayErrorKind {
  if (code === 'UNAVAILABLE') return 'draining';
  if (code === 'NOT_PAIRED' || detail?.startsWith('AUTH_') === true) return 'unauthorized';
  if (/rate.?limit/i.test(code ?? '')) return 'rate_limited';
  if (/^unauthorized|missing scope/i.test(message)) return 'unauthorized';
  return code === 'INVALID_REQUEST' ? 'refused' : 'failed';
}

/** How a turn that did not end well ended, from `agent.wait` or from the last answer to `agent`. Both give words, not types. */
export function turnFailed(end: Readonly<Record<string, unknown>>, usage: Usage | null = null): GatewayError {
  const message = textOf(end['error']) ?? textOf(end['summary']) ?? 'the turn failed without a reason';
  return new GatewayError(endKind(end, message), message.slice(0, QUOTED_CHARS), { accepted: true, usage });
}

function endKind(end: Readonly<Record<string, unknown>>, message: string): GatewayErrorKind {
  if (end['stopReason'] === 'rpc') return 'aborted';
  if (end['status'] === 'timeout') return textOf(end['timeoutPhase']) === null ? 'aborted' : 'timeout';
  if (/rate.?limit|HTTP 429|too many requests/i.test(message)) return 'rate_limited';
  if (/thinking level/i.test(message)) return 'refused';
  return /HTTP [45]\d\d|LLM|provider|model|overloaded/i.test(message) ? 'upstream' : 'failed';
}
