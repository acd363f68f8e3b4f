import { appendFileSync, writeFileSync } from 'node:fs';

export type Operation = 'enqueue' | 'claim' | 'heartbeat' | 'complete' | 'fail' | 'release';

/**
 * One call as its caller saw it. `unknown` means no answer came, so it may or may not have happened;
 * times are of one monotonic clock, so that "ended before the other began" is certain.
 */
export interface Call {
  readonly op: Operation;
  readonly by: string;
  readonly invokedMs: number;
  readonly endedMs: number;
  readonly outcome: 'ok' | 'refused' | 'unknown';
  /** The idempotency key of an enqueue. */
  readonly key?: string;
  readonly jobId?: string;
  readonly token?: string;
  readonly attempt?: number;
  /** The state the answer showed. */
  readonly state?: string;
  /** What a complete stored, so that the final result can be traced to one call. */
  readonly mark?: string;
  /** The refusal's error code. */
  readonly error?: string;
}

export interface FinalEvent {
  readonly seq: number;
  readonly timeMs: number;
  readonly kind: string;
}

/** A job as the store holds it when everything is over. */
export interface FinalJob {
  readonly id: string;
  readonly key: string;
  readonly state: string;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly mark?: string;
  readonly events: readonly FinalEvent[];
}

/** Writes the evidence of a violated run as JSON lines. */
export function saveHistory(file: string, calls: readonly Call[], finals: readonly FinalJob[]): void {
  writeFileSync(file, calls.map((call) => `${JSON.stringify(call)}\n`).join(''));
  appendFileSync(file, finals.map((job) => `${JSON.stringify({ final: job })}\n`).join(''));
}
