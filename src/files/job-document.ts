/** A job as its file shows it: v0's fields always, native ones when they are set, never a lease token. */

import type { JobEvent } from '../domain/event.ts';
import type { Job, JobDetails } from '../domain/job.ts';
import { WORDS } from '../domain/words.ts';
import type { JobType } from '../store/store.ts';
import type { Relations } from './job-relations.ts';

/** One field a line, so that a diff of two copies reads well. Stored JSON is pasted in as it is. */
export function jobDocument(job: Job, details: JobDetails, relations: Relations): string {
  const stored = Object.entries(storedJson(job, details)).filter(([, text]) => text !== null);
  const plain = Object.entries(plainFields(job, details, relations)).filter(
    ([, value]) => value !== undefined,
  );
  const fields = [...plain.map(([name, value]) => [name, JSON.stringify(value)]), ...stored];
  return `{\n${fields.map(([name, text]) => `  ${JSON.stringify(name)}: ${text}`).join(',\n')}\n}\n`;
}

function plainFields(
  job: Job,
  { input, comments, typeName, retryOfId, parentId }: JobDetails,
  { after, run, approval }: Relations,
) {
  return {
    id: job.id,
    no: job.no,
    target: job.target,
    status: WORDS[job.state].spine,
    state: job.state,
    createdAt: iso(job.createdAt),
    updatedAt: iso(job.updatedAt),
    createdBy: job.createdBy,
    claimedBy: job.claimedBy,
    leaseUntil: isoOr(null, job.leaseUntil),
    attempts: job.attempts,
    maxAttempts: job.maxAttempts,
    type: typeName ?? undefined,
    title: input.title ?? undefined,
    description: input.description ?? undefined,
    tags: input.tags.length > 0 ? input.tags : undefined,
    priority: job.priority,
    runAt: iso(job.runAt),
    finishedAt: isoOr(undefined, job.finishedAt),
    leaseMs: job.leaseMs,
    leasePolicy: job.leasePolicy === 'own' ? undefined : job.leasePolicy,
    timeoutMs: job.timeoutMs ?? undefined,
    timeoutAt: isoOr(undefined, job.timeoutAt),
    retry: { mode: job.retryMode, max: job.retryMax, backoffMs: job.backoffMs, count: job.retryCount },
    retryOf: retryOfId ?? undefined,
    retryAt: isoOr(undefined, job.retryAt),
    parentId: parentId ?? undefined,
    scheduleId: job.scheduleId ?? undefined,
    run: runFields(run),
    approval: approvalFields(approval),
    after: after.length > 0 ? after : undefined,
    uniqueKey: job.uniqueKey ?? undefined,
    pool: job.pool ?? undefined,
    concurrencyKey: job.concurrencyKey ?? undefined,
    blockedOn: job.blockedOn ?? undefined,
    cancelRequested: job.cancelRequested || undefined,
    releaseReason: job.reason ?? undefined,
    cause: job.cause ?? undefined,
    comments: comments.map(({ at, by, text }) => ({ t: iso(at), by, text })),
  };
}

function runFields(run: Relations['run']): object | undefined {
  if (run === null) return undefined;
  const { kind, dueAt } = run.of;
  return { kind, dueAt: isoOr(undefined, dueAt), triggeredBy: run.triggeredBy ?? undefined };
}

function approvalFields(approval: Relations['approval']): object | undefined {
  if (approval === null) return undefined;
  const { status, timeoutMs, auto, hash, resolvedBy, notes } = approval;
  return {
    status,
    timeoutMs,
    auto,
    hash,
    requestedAt: isoOr(undefined, approval.requestedAt),
    resolvedAt: isoOr(undefined, approval.resolvedAt),
    resolvedBy: resolvedBy ?? undefined,
    notes: notes ?? undefined,
  };
}

/** v0 shows a job without a spec as an empty text, and one without meta as an empty object. */
function storedJson(job: Job, { input, result, error }: JobDetails): Record<string, string | null> {
  return {
    spec: input.spec ?? '""',
    meta: input.meta ?? '{}',
    params: input.params,
    budget: input.budget,
    progress: job.progress,
    result: result ?? 'null',
    error: error ?? 'null',
  };
}

/** One line of events/<id>.jsonl. Facts that bear one of the line's own names are kept under `facts`. */
export function eventLine({ seq, at, kind, by, facts }: JobEvent): string {
  const own = { t: iso(at), seq, type: kind, by };
  const free: Record<string, unknown> = {};
  const clashing: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(facts ?? {}))
    (name in own || name === 'facts' ? clashing : free)[name] = shown(name, value);
  return `${JSON.stringify({ ...own, ...free, ...(Object.keys(clashing).length > 0 && { facts: clashing }) })}\n`;
}

export function typeDocument(type: JobType): string {
  return `${JSON.stringify({ ...type, createdAt: iso(type.createdAt), updatedAt: iso(type.updatedAt) }, null, 2)}\n`;
}

/** Facts carry their times as numbers, under names that end in At or Until. */
function shown(name: string, value: unknown): unknown {
  return typeof value === 'number' && /(At|Until)$/.test(name) ? iso(value) : value;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function isoOr<T>(none: T, ms: number | null): string | T {
  return ms === null ? none : iso(ms);
}
