/** What can go wrong with a gateway, by what the caller should do about it. */

import type { Usage } from './types.ts';

/**
 * down, draining: nothing was taken, safe to try later.
 * unauthorized, refused: the same request will fail again.
 * rate_limited, upstream: the model failed after the gateway's own retries; wait before the next attempt.
 * lost: the connection broke and the turn's fate is unknown; look at the session first.
 * aborted, timeout, failed: the turn ended without an answer.
 */
export type GatewayErrorKind =
  | 'down'
  | 'draining'
  | 'unauthorized'
  | 'refused'
  | 'rate_limited'
  | 'upstream'
  | 'lost'
  | 'aborted'
  | 'timeout'
  | 'failed';

interface Details {
  /** Whether the gateway has, or may have, taken the turn. What is lost may have been. */
  readonly accepted?: boolean;
  readonly retryAfterMs?: number | null;
  /** What the turn took before it failed, where the gateway says so. */
  readonly usage?: Usage | null;
  readonly cause?: unknown;
}

export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly kind: GatewayErrorKind;
  readonly accepted: boolean;
  readonly retryAfterMs: number | null;
  readonly usage: Usage | null;

  constructor(kind: GatewayErrorKind, message: string, details: Details = {}) {
    super(message, { cause: details.cause });
    this.kind = kind;
    this.accepted = details.accepted ?? kind === 'lost';
    this.retryAfterMs = details.retryAfterMs ?? null;
    this.usage = details.usage ?? null;
  }
}

/** The same failure, of a turn that the gateway had taken before. */
export function afterAcceptance(error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.accepted) return error;
  const kind = error.kind === 'down' || error.kind === 'draining' ? 'lost' : error.kind;
  return new GatewayError(kind, error.message, {
    accepted: true,
    retryAfterMs: error.retryAfterMs,
    usage: error.usage,
    cause: error,
  });
}
