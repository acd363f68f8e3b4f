/** What can go wrong with a call: the server said no, or it could not be asked. */

import type { NewQuestion } from './question-types.ts';

export interface ApiErrorFacts {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly hint: string | null;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
}

/** The server answered, and refused. */
export class SpineApiError extends Error {
  /** As in the table of errors, for example `lease_lost`; `http_502` and the like when the answer was not Spine's. */
  readonly code: string;
  readonly status: number;
  readonly hint: string | null;
  /** Whether the same call may succeed later without being changed. */
  readonly retryable: boolean;
  /** Further facts of the answer, for example `claimedBy` or `field`. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
  /** How long the server asked to wait, when it did. */
  readonly retryAfterMs: number | null;

  constructor(facts: ApiErrorFacts, options?: ErrorOptions) {
    super(facts.message, options);
    this.name = 'SpineApiError';
    this.code = facts.code;
    this.status = facts.status;
    this.hint = facts.hint;
    this.retryable = facts.retryable;
    this.details = facts.details;
    this.requestId = facts.requestId;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

/** No usable answer came. */
export class SpineConnectionError extends Error {
  /** The system's code, for example `ECONNREFUSED`; `TIMEOUT` when the answer took too long. */
  readonly code: string;
  /** False only when the request certainly did not reach the server. */
  readonly mayHaveArrived: boolean;

  constructor(message: string, options: { code: string; mayHaveArrived: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'SpineConnectionError';
    this.code = options.code;
    this.mayHaveArrived = options.mayHaveArrived;
  }
}

/** A handler throws this when another attempt could not succeed either. */
export class NonRetryableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'NonRetryableError';
  }
}

/** Why an attempt went wrong, where it was not the work itself. */
export type FailureCause = 'timeout' | 'stale' | 'crashed';

export interface JobFailureOptions {
  /** Stored as the job's error, in place of this error's name, message and stack. */
  readonly details?: object;
  /** Whether the retry rules apply; true unless said. */
  readonly requeue?: boolean;
  /** What kind of failure it was, when it is known. */
  readonly cause?: FailureCause | null;
}

/** A handler throws this to say more about its failure than an error can. */
export class JobFailure extends Error {
  readonly details: object;
  readonly requeue: boolean;
  /** What kind of failure it was. */
  override readonly cause: FailureCause | null;

  constructor(message: string, { details = {}, requeue = true, cause = null }: JobFailureOptions = {}) {
    super(message);
    this.name = 'JobFailure';
    this.details = { message, ...details };
    this.requeue = requeue;
    this.cause = cause;
  }
}

/** A handler throws this when the work cannot begin yet. The job waits, and this was no attempt. */
export class PutOff extends Error {
  readonly delayMs: number;

  constructor(delayMs: number, reason: string) {
    super(reason);
    this.name = 'PutOff';
    this.delayMs = delayMs;
  }
}

/**
 * What `ask` throws in a handler, which lets it through: the attempt ends here without counting, and the handler is
 * called again when the answer has come. A runner may throw one of its own.
 */
export class AskAndWait extends Error {
  readonly question: NewQuestion;

  constructor(question: NewQuestion) {
    super('The job waits for an answer.');
    this.name = 'AskAndWait';
    this.question = question;
  }
}

export type Interruption = 'cancelled' | 'lease_lost' | 'timeout' | 'shutdown';

const INTERRUPTIONS: Readonly<Record<Interruption, string>> = {
  cancelled: 'Somebody cancelled this job.',
  lease_lost: 'The lease on this job was lost or could not be renewed in time; somebody else may have it.',
  timeout: 'This job took longer than its timeoutMs.',
  shutdown: 'This worker is shutting down.',
};

/** The reason of a handler's signal. A lease that was lost by the server's word has its refusal as `cause`. */
export class JobInterrupted extends Error {
  readonly why: Interruption;

  constructor(why: Interruption, options?: ErrorOptions) {
    super(INTERRUPTIONS[why], options);
    this.name = 'JobInterrupted';
    this.why = why;
  }
}
