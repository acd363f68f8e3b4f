/** The streak of a type: its last failures, as long as each is like the one before. A long one opens the breaker. */

import type { Job } from './job.ts';

/** Unless somebody says otherwise. */
export const BREAKER_FAILURES = 3;

export interface Streak {
  readonly typeNo: number;
  readonly fingerprint: string;
  /** The lineages that failed so, by their first jobs: the retries of one task are no further failure. */
  readonly roots: readonly number[];
}

type Ended = Pick<Job, 'leasePolicy' | 'typeNo' | 'cause' | 'state'>;

/** A bot's word on its work. What was lost with its holder says nothing of its type. */
export function countsInStreak({ leasePolicy, typeNo, cause, state }: Ended): boolean {
  return isBots(leasePolicy, typeNo) && cause === null && (state === 'failed' || state === 'dead');
}

export function endsStreak({ leasePolicy, typeNo, state }: Ended): boolean {
  return isBots(leasePolicy, typeNo) && state === 'done';
}

function isBots(leasePolicy: Job['leasePolicy'], typeNo: number): boolean {
  return leasePolicy === 'presence' && typeNo !== 0;
}

export function streakWith(known: Streak, fingerprint: string, root: number): Streak {
  if (known.fingerprint !== fingerprint) return { ...known, fingerprint, roots: [root] };
  return known.roots.includes(root) ? known : { ...known, roots: [...known.roots, root] };
}
