/** Every refusal as an HTTP answer: v0's `error` code, joined by words that help. */

import { type ErrorCode, ERRORS, SpineError } from '../domain/error.ts';
import { withIsoTimes } from './times.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What the framework throws by itself, in our words. */
const FRAMEWORK_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_INVALID_MULTIPART_CONTENT_TYPE: 'unsupported_media_type',
  FST_REQ_FILE_TOO_LARGE: 'too_large',
  FST_PARTS_LIMIT: 'too_large',
  FST_FILES_LIMIT: 'too_large',
  FST_FIELDS_LIMIT: 'too_large',
};

const RETRY_AFTER_S = 1;

/** Anything that is no refusal of ours and no fault of the caller reads as `internal`, without its text. */
export function asSpineError(error: unknown): SpineError {
  if (error instanceof SpineError) return error;
  const { code, statusCode, message } = error as { code?: string; statusCode?: number; message?: string };
  const known = FRAMEWORK_CODES[code ?? ''];
  if (known) return new SpineError(known, {}, { cause: error });
  const isCallers = statusCode !== undefined && statusCode >= 400 && statusCode < 500;
  if (isCallers)
    return new SpineError('bad_request', {}, { cause: error, message: `${message ?? 'Bad request'}.` });
  return new SpineError('internal', {}, { cause: error });
}

export function errorAnswer(error: SpineError, requestId: string): ErrorAnswer {
  const { status, retryable, hint } = ERRORS[error.code];
  // What broke inside is for the log; the caller gets the id to find it there.
  const isOurs = error.code === 'internal';
  const { problem, retryAfterS, ...rest } = error.details;
  const message = isOurs ? ERRORS.internal.message : typeof problem === 'string' ? problem : error.message;
  const details = isOurs ? { requestId } : withIsoTimes(rest);
  return {
    status,
    headers: headersFor(status, retryAfterS),
    body: { error: error.code, message, retryable, hint, ...details },
  };
}

function headersFor(status: number, retryAfterS: unknown): Record<string, string> {
  if (status === 401) return { 'www-authenticate': 'Bearer' };
  if (status === 429 || status === 503 || status === 507) {
    return { 'retry-after': String(typeof retryAfterS === 'number' ? retryAfterS : RETRY_AFTER_S) };
  }
  return {};
}
