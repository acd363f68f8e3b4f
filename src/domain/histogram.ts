/** How often what was measured fell where. Counting is a few comparisons, because every job and request pays for it. */

export interface Histogram {
  /** The upper ends, rising; what is above the last is in `count` alone. */
  readonly bounds: readonly number[];
  /** How many fell at or below each end and above the one before. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sum: number;
}

export class Counted implements Histogram {
  readonly bounds: readonly number[];
  readonly counts: number[];
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  add(value: number): void {
    this.count += 1;
    this.sum += value;
    for (let i = 0; i < this.bounds.length; i++)
      if (value <= (this.bounds[i] as number)) {
        this.counts[i] = (this.counts[i] as number) + 1;
        return;
      }
  }
}
