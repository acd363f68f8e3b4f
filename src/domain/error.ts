/** Every refusal a caller can meet: one table, mirrored in the docs. */

export interface ErrorEntry {
  readonly status: number;
  /** Whether the same call may succeed later without being changed. */
  readonly retryable: boolean;
  readonly message: string;
  readonly hint: string;
}

export const ERRORS = {
  unauthorized: {
    status: 401,
    retryable: false,
    message: 'The bearer token is missing, unknown, or its role may not use this route.',
    hint: 'Send "Authorization: Bearer <token>" with a token of a role that the route allows; GET /me says what yours may.',
  },
  wrong_role: {
    status: 403,
    retryable: false,
    message: 'The role of your token may not use this route.',
    hint: 'Use a token of one of the roles that are named; GET /me says what yours may do.',
  },
  forbidden: {
    status: 403,
    retryable: false,
    message: 'This job is addressed to somebody else.',
    hint: "Use a token that serves the job's target.",
  },
  not_owner: {
    status: 403,
    retryable: false,
    message: 'Another worker holds this job.',
    hint: 'Only the claimant or head may do this.',
  },
  not_found: {
    status: 404,
    retryable: false,
    message: 'There is nothing under that id or name.',
    hint: 'Check it; finished jobs are removed after the retention time.',
  },
  method_not_allowed: {
    status: 405,
    retryable: false,
    message: 'This path does not take that method.',
    hint: 'See the API reference for the methods of each path.',
  },
  bad_request: {
    status: 400,
    retryable: false,
    message: 'The request does not fit the route.',
    hint: 'Correct the named field and send it again.',
  },
  bad_json: {
    status: 400,
    retryable: false,
    message: 'The body is not valid JSON.',
    hint: 'Send a JSON object with Content-Type: application/json.',
  },
  missing_file: {
    status: 400,
    retryable: false,
    message: 'The upload has no field named "file".',
    hint: 'Send multipart/form-data with one field "file".',
  },
  bad_host: {
    status: 421,
    retryable: false,
    message: 'This server does not answer for that Host.',
    hint: 'Call it by its own address, or add the name to SPINE_ALLOWED_HOSTS.',
  },
  bad_origin: {
    status: 403,
    retryable: false,
    message: 'Requests from other web pages are refused.',
    hint: 'Call the API from a program or from a page served by Spine itself, or add the origin of the page to SPINE_ALLOWED_ORIGINS.',
  },
  too_large: {
    status: 413,
    retryable: false,
    message: 'The body is larger than the limit.',
    hint: 'Send less, or raise SPINE_BODY_LIMIT_BYTES or SPINE_BLOB_LIMIT_BYTES.',
  },
  too_slow: {
    status: 408,
    retryable: true,
    message: 'The request took too long to come in.',
    hint: 'Send it faster, or raise SPINE_HEADERS_TIMEOUT_MS or SPINE_REQUEST_TIMEOUT_MS.',
  },
  unsupported_media_type: {
    status: 415,
    retryable: false,
    message: 'This content type or encoding is not accepted here.',
    hint: 'Send uncompressed application/json; files go to /blobs as multipart/form-data.',
  },
  already_claimed: {
    status: 409,
    retryable: false,
    message: 'Another worker claimed this job first.',
    hint: 'Claim another one.',
  },
  terminal_status: {
    status: 409,
    retryable: false,
    message: 'This job has ended.',
    hint: 'An operator can reopen it with POST /jobs/:id/retry.',
  },
  max_attempts_reached: {
    status: 409,
    retryable: false,
    message: 'All attempts of this job are used up; it is dead now.',
    hint: 'An operator can give it new ones with POST /jobs/:id/redrive.',
  },
  not_ready: {
    status: 409,
    retryable: true,
    message: 'This job may not run yet.',
    hint: 'Look at its state: it waits for its time, a dependency or a free slot.',
  },
  paused: {
    status: 409,
    retryable: true,
    message: "The job's target or type is paused.",
    hint: 'Wait, or resume it.',
  },
  missing_capability: {
    status: 409,
    retryable: false,
    message: 'This job requires capabilities that the claim did not name.',
    hint: 'Claim it with all of its capabilities, or leave it to a worker that has them.',
  },
  pool_full: {
    status: 409,
    retryable: true,
    message: "The job's pool has no free slot.",
    hint: 'Claim it again when another job of the pool has ended.',
  },
  not_running: {
    status: 409,
    retryable: false,
    message: 'This job is not running.',
    hint: 'Claim it first.',
  },
  lease_lost: {
    status: 409,
    retryable: false,
    message: 'Your lease on this job has ended; nothing was changed.',
    hint: 'Stop working on it. Somebody else may have it already.',
  },
  lease_token_required: {
    status: 409,
    retryable: false,
    message: 'This lease is used with its token; a call without one is refused.',
    hint: 'Send the leaseToken that your claim returned.',
  },
  conflict: {
    status: 409,
    retryable: false,
    message: 'The state of what you named does not allow this.',
    hint: 'Read it again and decide anew.',
  },
  unique_key_taken: {
    status: 409,
    retryable: false,
    message: 'An unfinished job of this type has that uniqueKey.',
    hint: 'Use the job named in jobId, or another key.',
  },
  idempotency_conflict: {
    status: 422,
    retryable: false,
    message: 'That Idempotency-Key was used with another body.',
    hint: 'Use a new key for a new request.',
  },
  too_many_children: {
    status: 422,
    retryable: false,
    message: 'One running job may not create that many children.',
    hint: 'Split the work differently.',
  },
  queue_full: {
    status: 429,
    retryable: true,
    message: 'There are too many unfinished jobs.',
    hint: 'Wait for workers to catch up, or raise SPINE_MAX_UNFINISHED_JOBS.',
  },
  mailbox_full: {
    status: 429,
    retryable: true,
    message: 'Too many messages wait for this agent.',
    hint: 'Wait until it has got some, or mark them as read.',
  },
  rate_limited: {
    status: 429,
    retryable: true,
    message: 'You call too often, or have too much under way.',
    hint: 'Come back after Retry-After seconds, or raise the setting that is named.',
  },
  overloaded: {
    status: 429,
    retryable: true,
    message: 'Too many calls are waiting.',
    hint: 'Come back after Retry-After seconds.',
  },
  shutting_down: {
    status: 503,
    retryable: true,
    message: 'This server is stopping.',
    hint: 'Send the call again; another server or the restarted one will take it.',
  },
  store_unavailable: {
    status: 503,
    retryable: true,
    message: 'The database cannot be reached or cannot be written.',
    hint: 'Send the call again; nothing was changed.',
  },
  storage_unavailable: {
    status: 503,
    retryable: true,
    message: 'Storage not available',
    hint: 'The bucket or folder of these bytes cannot be reached; nothing was kept. Send the call again.',
  },
  unready: {
    status: 503,
    retryable: true,
    message: 'This server cannot take work now.',
    hint: 'Look at reason. Calls may go to another server; this one goes on by itself as soon as it can.',
  },
  outcome_unknown: {
    status: 504,
    retryable: false,
    message: 'The database went away while this was being saved: it may have been done or not.',
    hint: 'Send it again if it carries an Idempotency-Key, a claimId or a leaseToken; otherwise look first.',
  },
  artifact_damaged: {
    status: 500,
    retryable: false,
    message: 'The bytes of this file are gone, or not the ones that were stored.',
    hint: 'Put its file in blobs/, or on PostgreSQL its rows of the table piece, back from a backup, or upload it again. `spine doctor --deep` lists all such files.',
  },
  disk_full: {
    status: 507,
    retryable: true,
    message: 'The disk is full; nothing was changed.',
    hint: 'Free space on the server. Reads go on meanwhile.',
  },
  internal: {
    status: 500,
    retryable: true,
    message: 'Something unexpected went wrong on the server.',
    hint: "Look for the request id in the server's log.",
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export type Details = Readonly<Record<string, unknown>>;

/** A refusal as a value: decisions return it, so that what was decided with it is still written. */
export interface Refusal {
  readonly ok: false;
  readonly code: ErrorCode;
  readonly details: Details;
}

export function refuse(code: ErrorCode, details: Details = {}): Refusal {
  return { ok: false, code, details };
}

/** A refusal as an exception, for the edges. */
export class SpineError extends Error {
  readonly code: ErrorCode;
  readonly details: Details;

  constructor(code: ErrorCode, details: Details = {}, options?: ErrorOptions & { message?: string }) {
    super(options?.message ?? ERRORS[code].message, options);
    this.name = 'SpineError';
    this.code = code;
    this.details = details;
  }
}
