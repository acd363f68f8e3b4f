/** Every way a command can fail: one line that helps, one code that programs can tell apart. */

import { SpineApiError, SpineConnectionError } from '../client/errors.ts';

export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notFound: 3,
  auth: 4,
  conflict: 5,
  unavailable: 6,
  timeout: 7,
  jobFailed: 8,
  databaseUnavailable: 69,
  fault: 70,
  disk: 74,
  config: 78,
  interrupted: 130,
} as const;

/** As the help prints them. */
export const EXIT_MEANINGS: readonly (readonly [number, string])[] = [
  [EXIT.ok, 'success'],
  [EXIT.failure, 'failure'],
  [EXIT.usage, 'wrong usage'],
  [EXIT.notFound, 'not found'],
  [EXIT.auth, 'token missing or not allowed'],
  [EXIT.conflict, 'conflict or lease lost'],
  [EXIT.unavailable, 'server unavailable'],
  [EXIT.timeout, 'timeout'],
  [EXIT.jobFailed, 'the job waited for failed'],
  [EXIT.databaseUnavailable, 'the database of a server cannot be reached'],
  [EXIT.fault, 'a server stopped by itself'],
  [EXIT.disk, 'the disk of a server is full'],
  [EXIT.config, 'wrong settings or start refused'],
  [EXIT.interrupted, 'interrupted (Ctrl-C)'],
];

export class CliError extends Error {
  readonly exitCode: number;
  readonly code: string;
  readonly hint: string | null;
  /** For programs. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    exitCode: number,
    code: string,
    message: string,
    hint: string | null = null,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = 'CliError';
    this.exitCode = exitCode;
    this.code = code;
    this.hint = hint;
    this.details = details;
  }
}

export function usage(message: string, hint: string | null = null): CliError {
  return new CliError(EXIT.usage, 'usage', message, hint);
}

export interface Failure {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof CliError) {
    const { exitCode, code, message, hint, details } = error;
    return { exitCode, code, message, hint, details };
  }
  if (error instanceof SpineApiError) {
    const { code, message, details } = error;
    return {
      exitCode: exitCodeOf(error),
      code,
      message,
      hint: (details['code'] === 'wrong_role' ? HINTS['wrong_role'] : HINTS[code]) ?? error.hint,
      details,
    };
  }
  if (error instanceof SpineConnectionError) return connectionFailure(error);
  const own = error instanceof Error && 'exitCode' in error ? error.exitCode : null;
  const exitCode = typeof own === 'number' ? own : EXIT.failure;
  const code = exitCode === EXIT.config ? 'config' : 'failure';
  return { exitCode, code, message: explain(error), hint: null, details: {} };
}

/** Where the server's advice is about HTTP. */
const HINTS: Readonly<Record<string, string>> = {
  terminal_status: 'Open it again with: npx spine jobs retry',
  max_attempts_reached: 'Give it new attempts with: npx spine jobs redrive',
  lease_token_required: 'Pass the --lease-token that the claim returned.',
  bad_request: 'Correct that and try again.',
  wrong_role: 'Pass another --token; spine whoami says what this one may do.',
};

function exitCodeOf({ status, code }: SpineApiError): number {
  if (status === 401 || status === 403) return EXIT.auth;
  if (status === 404) return EXIT.notFound;
  if (status === 409 || code === 'idempotency_conflict') return EXIT.conflict;
  if (status === 400) return EXIT.usage;
  if (status === 408 || status === 504) return EXIT.timeout;
  return [429, 502, 503, 507].includes(status) ? EXIT.unavailable : EXIT.failure;
}

function connectionFailure({ code, message }: SpineConnectionError): Failure {
  if (code === 'TIMEOUT')
    return { exitCode: EXIT.timeout, code: 'timeout', message, hint: 'Is the server busy?', details: {} };
  const exitCode = code === 'BAD_ANSWER' ? EXIT.failure : EXIT.unavailable;
  return { exitCode, code: 'unavailable', message, hint: null, details: { cause: code } };
}

/** A failed connection to several addresses is an AggregateError whose own message is empty. */
function explain(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(explain).join('; ');
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}
