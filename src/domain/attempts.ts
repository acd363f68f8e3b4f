/** What became of each claim of a job, read from its events. */

import type { EventKind, JobEvent } from './event.ts';

export const OUTCOMES = [
  'running',
  'done',
  'failed',
  'released',
  'expired',
  'timeout',
  'snoozed',
  'asked',
  'cancelled',
  'lost',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** One claim. Claims that were given back count as no attempt of their own: the next one has the same number. */
export interface Attempt {
  readonly attempt: number;
  readonly by: string;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly outcome: Outcome;
}

/** Which events end the attempt under way, and how. */
const ENDINGS: Partial<Record<EventKind, Outcome>> = {
  'job.completed': 'done',
  'job.failed': 'failed',
  'job.released': 'released',
  'job.expired': 'expired',
  'job.timeout': 'timeout',
  'job.snoozed': 'snoozed',
  'job.asked': 'asked',
  'job.cancelled': 'cancelled',
};

/** Takes a job's events in their order, page after page. */
export class AttemptReader {
  readonly attempts: Attempt[] = [];

  add({ kind, at, by, facts }: JobEvent): void {
    if (kind === 'job.claimed') {
      this.#end(at, 'lost');
      this.attempts.push({
        attempt: Number(facts?.['attempt'] ?? this.attempts.length + 1),
        by,
        startedAt: at,
        endedAt: null,
        outcome: 'running',
      });
      return;
    }
    const outcome = ENDINGS[kind];
    if (outcome !== undefined) this.#end(at, outcome);
  }

  #end(at: number, outcome: Outcome): void {
    const last = this.attempts.at(-1);
    if (last?.outcome === 'running') this.attempts.splice(-1, 1, { ...last, endedAt: at, outcome });
  }
}
