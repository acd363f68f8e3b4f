/**
 * Rows are read after their events and are often newer: then the journal holds the row of an event whose own line is
 * still to come. That line needs no row. Nothing depends on this memory: without it the row is written once more.
 */

/** Several passes of jobs; whoever falls out gets its row again. */
const KEPT = 20_000;

export class RowsAhead {
  /** By job, the sequence of the row that the journal has of it. */
  readonly #seqs = new Map<number, number>();
  readonly #adding = new Map<number, number>();
  /** Jobs whose events have come as far as their rows. */
  readonly #reached: number[] = [];

  /** A pass begins; what another one added without an end may not be in the journal. */
  begin(): void {
    this.#adding.clear();
    this.#reached.length = 0;
  }

  /** Whether the row in the journal is as new as the last event that the pass has of its job. */
  covers(jobNo: number, lastSeq: number): boolean {
    const seq = this.#seqs.get(jobNo);
    if (seq === undefined) return false;
    if (seq <= lastSeq) this.#reached.push(jobNo);
    return seq >= lastSeq;
  }

  /** The pass has a new row of a job, and its events up to `lastSeq`. */
  add(jobNo: number, seq: number, lastSeq: number): void {
    if (seq > lastSeq) this.#adding.set(jobNo, seq);
  }

  /** What the pass brought is on the disk. */
  written(): void {
    for (const jobNo of this.#reached) this.#seqs.delete(jobNo);
    for (const [jobNo, seq] of this.#adding) this.#seqs.set(jobNo, seq);
    for (const oldest of this.#seqs.keys()) {
      if (this.#seqs.size <= KEPT) return;
      this.#seqs.delete(oldest);
    }
  }
}
