/** Refusals on their way out: what may be told of one, and the native shape, v0's `error` code joined by words that help. */

import type { TSchema } from 'typebox';
import { type ErrorCode, ERRORS, SpineError } from '../domain/error.ts';
import type { State } from '../domain/job.ts';
import type { StatusOf } from '../domain/statuses.ts';
import { withIsoTimes } from './times.ts';
import { Type } from './typebox.ts';

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

/** What a caller may know of a refusal. */
export interface Told {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly hint: string;
  /** Its facts: times as epoch milliseconds, a job's state by its own name. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** What broke inside is for the log; the caller gets the id to find it there. */
export function toldOf({ code, message, details }: SpineError, requestId: string): Told {
  const { retryable, hint, message: usual } = ERRORS[code];
  if (code === 'internal') return { code, message: usual, retryable, hint, details: { requestId } };
  const { problem, retryAfterS: _, ...rest } = details;
  return { code, message: typeof problem === 'string' ? problem : message, retryable, hint, details: rest };
}

/** How a door says no. The status of a code is the same at all of them. */
export interface ErrorShape {
  /** Begins the names of its refusals in the description, where two shapes must not meet under one name. */
  readonly name: string;
  readonly body: (told: Told, statusOf: StatusOf) => Readonly<Record<string, unknown>>;
  /** The body that one of these codes has. */
  readonly schema: (codes: readonly ErrorCode[]) => TSchema;
}

/** v0 tells the status of the job with these. */
const WITH_STATUS: readonly ErrorCode[] = ['terminal_status', 'not_running', 'lease_lost'];

export const Refusal = Type.Object(
  { error: Type.String(), message: Type.String(), retryable: Type.Boolean(), hint: Type.String() },
  { additionalProperties: true },
);

export const nativeErrors: ErrorShape = {
  name: '',
  body: ({ code, message, retryable, hint, details }, statusOf) => ({
    error: code,
    message,
    retryable,
    hint,
    ...(WITH_STATUS.includes(code) && { status: statusOf[details['state'] as State] }),
    ...withIsoTimes(details),
  }),
  schema: (codes) => {
    const named = { type: 'object', properties: { error: { enum: codes } }, additionalProperties: true };
    return Type.Unsafe({ allOf: [Refusal, named] });
  },
};
