/** What a change of a job tells a trace: spans with ids that any server would give them, so that none contradicts another. */

import type { EventKind } from './event.ts';
import { isFinal, type Job, rootOf } from './job.ts';
import { hexHash } from './trace.ts';

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: 'spine.job' | 'spine.queue' | 'spine.attempt';
  readonly startMs: number;
  readonly endMs: number;
  readonly ok: boolean | null;
  readonly links: readonly string[];
  readonly facts: Readonly<Record<string, string | number>>;
}

/** An attempt that one of these has ended was no good. */
export const BAD_ENDS: ReadonlySet<EventKind> = new Set(['job.failed', 'job.expired', 'job.timeout']);

/** `house` is the installation: the numbers of jobs are its own. */
export function spansOf(house: string, before: Job, after: Job, isBad: boolean): Span[] {
  // Whoever called has decided that this trace is not to be kept.
  if (after.traceparent !== null && (Number.parseInt(after.traceparent.slice(-2), 16) & 1) === 0) return [];
  const spans: Span[] = [];
  const isClaimed = after.fence > before.fence;
  const startedAt = after.startedAt ?? (isClaimed ? after.updatedAt : before.startedAt);
  if (isClaimed && startedAt !== null) spans.push(queueSpan(house, before, after, startedAt));
  if (before.state === 'running' && (after.state !== 'running' || isClaimed) && before.startedAt !== null)
    spans.push(attemptSpan(house, before, after, before.startedAt, isBad));
  if (isClaimed && after.state !== 'running' && before.state !== 'running' && startedAt !== null)
    spans.push(attemptSpan(house, after, after, startedAt, isBad));
  if (isFinal(after.state) && !isFinal(before.state)) spans.push(jobSpan(house, after));
  return spans;
}

function jobSpan(house: string, job: Job): Span {
  return {
    ...idsOf(house, job, jobSpanId(house, job.no), job.traceparent?.slice(36, 52) ?? null),
    name: 'spine.job',
    startMs: job.createdAt,
    endMs: job.finishedAt ?? job.updatedAt,
    ok: job.state === 'done' ? true : job.state === 'failed' || job.state === 'dead' ? false : null,
    links: job.retryOf === null ? [] : [jobSpanId(house, job.retryOf)],
    facts: { ...factsOf(job), 'spine.job.state': job.state, 'spine.job.attempts': job.attempts },
  };
}

function queueSpan(house: string, before: Job, after: Job, startedAt: number): Span {
  const id = hexHash(`${house}/${after.no}/queue/${after.fence}`, 1);
  return {
    ...idsOf(house, after, id, jobSpanId(house, after.no)),
    name: 'spine.queue',
    startMs: before.queuedAt ?? before.createdAt,
    endMs: startedAt,
    ok: null,
    links: [],
    facts: factsOf(after),
  };
}

/** `held` is the row as it was under this attempt's lease. */
function attemptSpan(house: string, held: Job, after: Job, startMs: number, isBad: boolean): Span {
  return {
    ...idsOf(house, held, attemptSpanId(house, held.no, held.fence), jobSpanId(house, held.no)),
    name: 'spine.attempt',
    startMs,
    endMs: after.updatedAt,
    ok: isBad ? false : after.state === 'done' ? true : null,
    // The one that this one follows.
    links: held.fence > 1 ? [attemptSpanId(house, held.no, held.fence - 1)] : [],
    facts: {
      ...factsOf(held),
      'spine.attempt': held.attempts,
      ...(held.claimedBy !== null && { 'spine.worker': held.claimedBy }),
    },
  };
}

function idsOf(house: string, job: Job, spanId: string, parentSpanId: string | null) {
  // All of a lineage is one trace, as all that has one traceparent is.
  const traceId = job.traceparent?.slice(3, 35) ?? hexHash(`${house}/${rootOf(job)}/trace`, 2);
  return { traceId, spanId, parentSpanId };
}

function jobSpanId(house: string, no: number): string {
  return hexHash(`${house}/${no}/job`, 1);
}

function attemptSpanId(house: string, no: number, fence: number): string {
  return hexHash(`${house}/${no}/attempt/${fence}`, 1);
}

function factsOf({ id, no, target, scheduleId }: Job): Record<string, string | number> {
  return {
    'spine.job.id': id,
    'spine.job.no': no,
    'spine.target': target,
    ...(scheduleId !== null && { 'spine.schedule.id': scheduleId }),
  };
}
