/** Tells the log how jobs end, once that is durable: on the server that has decided it, and on no other. */

import type { JobEvent } from '../domain/event.ts';
import { isoTime } from '../domain/iso-time.ts';
import { queuedMs } from '../domain/job-times.ts';
import type { Job } from '../domain/job.ts';
import type { Clock } from '../domain/ports.ts';
import type { CommitWatcher } from '../engine/core.ts';
import type { Log } from './log.ts';

/** So many a second are told one by one, for as long as this many at once; whoever ends more is told how many there were. */
const A_SECOND = 500;
const AT_ONCE = 5_000;
const ERROR_CHARS = 300;

type Kind = JobEvent['kind'];
const WELL: Partial<Record<Kind, string>> = {
  'job.completed': 'A job is done',
  'job.cancelled': 'A job is cancelled',
  'job.rejected': 'A job was not approved',
  'job.skipped': 'A job is skipped',
};
const BADLY: Partial<Record<Kind, string>> = {
  'job.failed': 'An attempt failed',
  'job.expired': 'A lease ran out',
  'job.timeout': 'An attempt took too long',
  'job.dead': 'A job is dead',
};

export function jobLog(log: Log, clock: Pick<Clock, 'now'>): CommitWatcher {
  const well = new Allowance(clock);
  const badly = new Allowance(clock);
  return ({ events, changes }) => {
    let jobs: Map<number, { before: Job; after: Job }> | null = null;
    let toldBadly = -1;
    for (const event of events) {
      const { kind, jobNo } = event;
      const message = WELL[kind] ?? BADLY[kind];
      // A failure that leaves no attempt is told once, with where it left the job.
      if (message === undefined || (jobNo === toldBadly && (kind === 'job.dead' || kind === 'job.cancelled')))
        continue;
      const isBad = WELL[kind] === undefined;
      if (isBad) toldBadly = jobNo;
      const leftOut = (isBad ? badly : well).take();
      if (leftOut === null) continue;
      const level = isBad ? 'warn' : 'info';
      if (leftOut > 0)
        log[level](
          isBad ? 'More jobs ended badly, not told one by one' : 'More jobs ended, not told one by one',
          {
            jobs: leftOut,
          },
        );
      jobs ??= new Map(changes.map((change) => [change.after.no, change]));
      const change = jobs.get(jobNo);
      if (change !== undefined) log[level](message, factsOf(event, change.before, change.after));
    }
  };
}

function factsOf({ seq, at, by, facts }: JobEvent, before: Job, after: Job): Record<string, unknown> {
  const { id, no, target, state, scheduleId, traceparent, retryAt, runAt } = after;
  const startedAt = after.startedAt ?? before.startedAt;
  const nextTry = retryAt ?? (state === 'scheduled' ? runAt : state === 'queued' ? at : null);
  const said: unknown = facts?.['error'] ?? null;
  const isBad = facts?.['requeued'] !== undefined || state !== 'done';
  return {
    job: id,
    no,
    event: seq,
    target,
    attempt: facts?.['attempt'] ?? before.attempts,
    by: before.claimedBy ?? by,
    state,
    queuedMs: queuedMs(after) ?? queuedMs(before) ?? undefined,
    runMs: startedAt === null ? undefined : Math.max(0, at - startedAt),
    ...(scheduleId !== null && { schedule: scheduleId }),
    ...(traceparent !== null && { trace: traceparent.slice(3, 35) }),
    ...(isBad && said !== null && { error: firstLine(said) }),
    ...(isBad && nextTry !== null && { nextTry: isoTime(nextTry) }),
  };
}

/** What a worker says went wrong: a text, or an object with a message. */
function firstLine(error: unknown): string {
  const said = typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
  const text = typeof said === 'string' ? said : (JSON.stringify(error) ?? '');
  return (text.trim().split(/[\r\n]/, 1)[0] ?? '').slice(0, ERROR_CHARS).toWellFormed();
}

/** Grows with time, up to what may come at once. */
class Allowance {
  readonly #clock: Pick<Clock, 'now'>;
  #left = AT_ONCE;
  #asOf: number;
  #leftOut = 0;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#asOf = clock.now();
  }

  /** How many were left out since the last that was told; null when this one is left out, too. */
  take(): number | null {
    const now = this.#clock.now();
    this.#left = Math.min(AT_ONCE, this.#left + ((now - this.#asOf) / 1_000) * A_SECOND);
    this.#asOf = now;
    if (this.#left < 1) {
      this.#leftOut += 1;
      return null;
    }
    this.#left -= 1;
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    return leftOut;
  }
}
