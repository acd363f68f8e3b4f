/** The numbers of tasks in the order of lists: the more urgent first, of those the newer. Any number of jobs takes a few bytes each. */

import { BOT_PRIORITIES, type RankedJob } from '../../../domain/bot.ts';

const FALLING = Object.values(BOT_PRIORITIES).toSorted((a, b) => b - a);

export class TasksInOrder {
  readonly #byRank = new Map<number, number[]>(FALLING.map((rank) => [rank, []]));

  add(ranked: readonly RankedJob[]): void {
    for (const { no, rank } of ranked) this.#byRank.get(rank)?.push(no);
  }

  /** One that was found twice is there once. */
  between(start: number, end: number): number[] {
    const between: number[] = [];
    let before = 0;
    for (const rank of FALLING) {
      if (before >= end) break;
      const nos = [...new Set(this.#byRank.get(rank))].toSorted((a, b) => b - a);
      between.push(...nos.slice(Math.max(0, start - before), end - before));
      before += nos.length;
    }
    return between;
  }
}
