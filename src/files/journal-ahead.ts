/**
 * Rows are read after their events and are often newer: then the journal holds the row of an event whose own line is
 * still to come. That line needs no row. Nothing depends on this memory: without it the row is written once more.
 */

import type { FeedEvent } from '../store/store.ts';

/** Several passes of jobs; whoever falls out gets its row again. */
const KEPT = 20_000;

export class RowsAhead {
  /** By job, the sequence of the row that the journal has of it. */
  readonly #seqs = new Map<number, number>();
  readonly #adding = new Map<number, number>();

  /** Whether the row in the journal is as new as this event of its job. */
  covers(jobNo: number, seq: number): boolean {
    return (this.#seqs.get(jobNo) ?? 0) >= seq;
  }

  /** A pass begins; what another one added without an end may not be in the journal. */
  begin(): void {
    this.#adding.clear();
  }

  add(jobNo: number, seq: number): void {
    this.#adding.set(jobNo, seq);
  }

  /** The rows that were added are on the disk, and these events with them. */
  written(events: readonly FeedEvent[]): void {
    for (const [jobNo, seq] of this.#adding) this.#seqs.set(jobNo, seq);
    for (const { jobNo, seq } of events) if (this.#seqs.get(jobNo) === seq) this.#seqs.delete(jobNo);
    for (const oldest of this.#seqs.keys()) {
      if (this.#seqs.size <= KEPT) return;
      this.#seqs.delete(oldest);
    }
  }
}
