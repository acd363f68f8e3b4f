/** Random choices that a printed seed repeats. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** From 0 up to, not including, `below`. */
  int(below: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  shuffle<T>(items: readonly T[]): T[];
}

/** mulberry32: 32 bits of state are plenty for choosing faults. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
  const int = (below: number): number => Math.floor(next() * below);
  function pick<T>(items: readonly T[]): T {
    const item = items[int(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
  function shuffle<T>(items: readonly T[]): T[] {
    const order = items.map((item) => ({ item, key: next() }));
    return order.toSorted((a, b) => a.key - b.key).map((entry) => entry.item);
  }
  return { next, int, chance: (probability) => next() < probability, pick, shuffle };
}

/** A seed for a run nobody asked to repeat. */
export function freshSeed(): number {
  return Math.floor(Math.random() * 4_294_967_296);
}
