/** Which of the pieces that a place has already are read again: storage forgets bits, and many backups share one piece. */

import type { Sum } from './sums.ts';

const HOUR_MS = 3_600_000;
/** Read again in one hour, unless the pieces are so many that each could not have its turn within a week. */
const SHARE_BYTES = 64 * 1024 * 1024;
const SHARE_PIECES = 1_000;
const MOST_SHARES = 7 * 24;

export interface Amount {
  readonly count: number;
  readonly bytes: number;
}

/** Each piece has its turn in one of some hours; nothing is written down, so that every server and every place agree. */
export function turnAt(atMs: number, { count, bytes }: Amount): (piece: Sum) => boolean {
  const wanted = Math.max(1, Math.ceil(bytes / SHARE_BYTES), Math.ceil(count / SHARE_PIECES));
  const shares = Math.min(MOST_SHARES, wanted);
  const hour = Math.floor(atMs / HOUR_MS);
  // An hour later in each round: a machine that sleeps at night would never come to some of them.
  const turn = (hour + Math.floor(hour / shares)) % shares;
  return ({ sha256 }) => Number.parseInt(sha256.slice(0, 8), 16) % shares === turn;
}
