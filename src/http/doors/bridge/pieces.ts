/** Long lists, a few jobs at a time: to read and print all at once would hold up everybody else. */

import type { Job } from '../../../domain/job.ts';

const AT_ONCE = 50;
const BYTES = 262_144;

/** `sizes` tells about how large each is, by its number. */
export function* pieces(jobs: readonly Job[], sizes: ReadonlyMap<number, number>): Generator<readonly Job[]> {
  let piece: Job[] = [];
  let bytes = 0;
  for (const job of jobs) {
    const size = sizes.get(job.no) ?? 0;
    if (piece.length === AT_ONCE || (piece.length > 0 && bytes + size > BYTES)) {
      yield piece;
      piece = [];
      bytes = 0;
    }
    piece.push(job);
    bytes += size;
  }
  if (piece.length > 0) yield piece;
}
