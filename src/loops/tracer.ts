/** Takes spans from commits and has them sent. Nobody waits for it: what a collector does not take is left out, counted and told. */

import { SendError } from '../channels/channel.ts';
import type { Rejected, SendSpans } from '../channels/otlp.ts';
import { BAD_ENDS, type Span, spansOf } from '../domain/spans.ts';
import type { CommitWatcher, Core } from '../engine/core.ts';
import type { Duty, Pass } from './loop.ts';

const LOOK_MS = 1_000;
const AT_ONCE = 500;
const KEPT = 20_000;

export class Tracer implements Duty {
  readonly name = 'tracer';
  readonly everyMs = LOOK_MS;
  readonly #send: SendSpans;
  readonly #house: string;
  readonly #over = new AbortController();
  readonly #most: number;
  readonly #onRefused: (why: string, spans: number) => void;
  #kept: Span[] = [];
  #sent = 0;
  #dropped = 0;

  constructor(core: Core, send: SendSpans, onRefused: (why: string, spans: number) => void, most = KEPT) {
    this.#onRefused = onRefused;
    this.#most = most;
    this.#house = core.store.identity;
    this.#send = send;
  }

  readonly watch: CommitWatcher = ({ changes, events }) => {
    const bad = new Set(events.flatMap(({ kind, jobNo }) => (BAD_ENDS.has(kind) ? [jobNo] : [])));
    for (const { before, after } of changes) {
      for (const span of spansOf(this.#house, before, after, bad.has(after.no)))
        if (this.#kept.length < this.#most) this.#kept.push(span);
        else this.#dropped += 1;
    }
  };

  async runOnce(): Promise<Pass> {
    const batch = this.#kept.slice(0, AT_ONCE);
    if (batch.length === 0) return { done: 0, more: false };
    const { count, why } = await this.#sendOnce(batch);
    this.#sent += batch.length - count;
    this.#dropped += count;
    if (count > 0) this.#onRefused(why, count);
    this.#kept = this.#kept.slice(batch.length);
    return { done: batch.length, more: this.#kept.length > 0 };
  }

  async #sendOnce(batch: readonly Span[]): Promise<Rejected> {
    try {
      return await this.#send(batch, this.#over.signal);
    } catch (error) {
      // What it will never take would keep all others waiting.
      if (error instanceof SendError && error.final) return { count: batch.length, why: error.message };
      throw error;
    }
  }

  status(): { readonly sent: number; readonly dropped: number } {
    return { sent: this.#sent, dropped: this.#dropped };
  }

  /** Sends what waits, as long as the collector takes it. */
  async end(): Promise<void> {
    while ((await this.runOnce()).more);
  }

  /** What is under way is called off, and nothing more is sent. */
  callOff(): void {
    this.#over.abort();
  }
}
