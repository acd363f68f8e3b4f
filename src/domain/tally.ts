/** How many jobs ended how, by the quarter of an hour: what a day came to is known without looking at its jobs. */

/** `retried`: an attempt went wrong and another one comes. */
export const TALLIES = ['dead', 'done', 'failed', 'retried'] as const;
export type Tally = (typeof TALLIES)[number];

export function isTally(kind: string): kind is Tally {
  return (TALLIES as readonly string[]).includes(kind);
}

/** In every zone a day begins with one of them. */
const QUARTER_MS = 900_000;
/** Kept for longer than any digest looks back. */
export const TALLY_KEPT_MS = 40 * 86_400_000;

export function quarterOf(at: number): number {
  return Math.floor(at / QUARTER_MS) * QUARTER_MS;
}
