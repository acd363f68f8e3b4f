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
  /** How long the job stood ready before it; null when that is not in the part of the history that was read. */
  readonly queuedMs: number | null;
  /** Null while it runs. */
  readonly runMs: number | null;
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

/** After these a job stands ready, unless they say that it is in another state. Whatever it waits for then ends with one of them. */
const READY: ReadonlySet<EventKind> = new Set([
  'job.created',
  'job.queued',
  'job.released',
  'job.failed',
  'job.expired',
  'job.timeout',
  'job.reopened',
  'job.approved',
  'job.answered',
]);
/** These move a job to a time, which may be now; one that is ready already stays so. */
const MOVED: ReadonlySet<EventKind> = new Set(['job.snoozed', 'job.edited']);

/** Takes a job's events in their order, page after page. */
export class AttemptReader {
  readonly attempts: Attempt[] = [];
  #readyAt: number | null = null;

  add(event: JobEvent): void {
    const { kind, at, by, facts } = event;
    if (kind === 'job.claimed') {
      this.#end(at, 'lost');
      this.attempts.push({
        attempt: Number(facts?.['attempt'] ?? this.attempts.length + 1),
        by,
        startedAt: at,
        endedAt: null,
        queuedMs: this.#readyAt === null ? null : Math.max(0, at - this.#readyAt),
        runMs: null,
        outcome: 'running',
      });
      this.#readyAt = null;
      return;
    }
    const outcome = ENDINGS[kind];
    if (outcome !== undefined) this.#end(at, outcome);
    this.#follow(event);
  }

  #follow({ kind, at, facts }: JobEvent): void {
    const { state = 'queued', runAt } = facts ?? {};
    if (READY.has(kind)) this.#readyAt = state === 'queued' ? at : null;
    else if (kind === 'job.scheduled') this.#readyAt = null;
    else if (MOVED.has(kind) && typeof runAt === 'number')
      this.#readyAt = runAt > at ? null : (this.#readyAt ?? at);
  }

  #end(at: number, outcome: Outcome): void {
    const last = this.attempts.at(-1);
    if (last?.outcome !== 'running') return;
    const runMs = Math.max(0, at - last.startedAt);
    this.attempts.splice(-1, 1, { ...last, endedAt: at, runMs, outcome });
  }
}
