import { type Answer, NoAnswer } from '../../test/support/http.ts';
import type { Call } from '../checker/history.ts';

/** What a call is about, before its answer is known. */
export type Intent = Pick<Call, 'op' | 'by' | 'key' | 'jobId' | 'token' | 'attempt' | 'mark'>;

/** The server cannot act just now, or cannot tell whether it did. */
const EXPECTED: ReadonlySet<number> = new Set([503, 504]);

/** Collects every call with its times and what its caller heard. */
export class Ledger {
  readonly calls: Call[] = [];
  /** Answers that no fault of ours explains, such as a 500. */
  readonly surprises: string[] = [];

  /** Makes the call; undefined means that no answer came or that the server could not act just now. */
  async record<T>(intent: Intent, send: () => Promise<Answer<T>>): Promise<Answer<T> | undefined> {
    const invokedMs = performance.now();
    try {
      const answer = await send();
      const unavailable = answer.status >= 500 || answer.status === 429;
      if (answer.status >= 500 && !EXPECTED.has(answer.status)) this.#surprise(intent, answer);
      this.#add(
        intent,
        invokedMs,
        unavailable ? 'unknown' : answer.status < 300 ? 'ok' : 'refused',
        answer.body,
      );
      return unavailable ? undefined : answer;
    } catch (problem) {
      if (!(problem instanceof NoAnswer)) throw problem;
      this.#add(intent, invokedMs, 'unknown', {});
      return undefined;
    }
  }

  /** A claim names its jobs only in the answer, so each of them becomes a call of its own. */
  claimed(call: Omit<Call, 'op' | 'outcome' | 'endedMs'>): void {
    this.calls.push({ ...call, op: 'claim', outcome: 'ok', endedMs: performance.now() });
  }

  #add(intent: Intent, invokedMs: number, outcome: Call['outcome'], body: unknown): void {
    const { id, state, error } = body as { id?: unknown; state?: unknown; error?: unknown };
    this.calls.push({
      ...intent,
      ...(intent.op === 'enqueue' && typeof id === 'string' ? { jobId: id } : {}),
      ...(typeof state === 'string' ? { state } : {}),
      ...(outcome === 'refused' && typeof error === 'string' ? { error } : {}),
      invokedMs,
      endedMs: performance.now(),
      outcome,
    });
  }

  #surprise(intent: Intent, answer: Answer<unknown>): void {
    this.surprises.push(
      `${intent.op} of ${intent.jobId ?? intent.key} answered ${answer.status} ${answer.text.slice(0, 200)}`,
    );
  }
}
