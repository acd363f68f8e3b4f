/** A job as its file shows it: what the table of fields shows, and what lies beside its row; never a lease token. */

import type { JobEvent } from '../domain/event.ts';
import { isoTime, isTimeFact } from '../domain/iso-time.ts';
import { JOB_FIELDS } from '../domain/job-fields.ts';
import type { JobType } from '../domain/job-type.ts';
import type { Job, JobDetails } from '../domain/job.ts';
import { blockedOnOf, type Question } from '../domain/question.ts';
import { SPINE_STATUS_OF } from '../domain/statuses.ts';
import type { Relations } from './job-relations.ts';

/** One field a line, so that a diff of two copies reads well. Stored JSON is pasted in as it is. */
export function jobDocument(job: Job, details: JobDetails, relations: Relations): string {
  const beside = Object.entries(besideRow(job, details, relations)).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, JSON.stringify(value)]],
  );
  const stored = Object.entries({ ...storedJson(details), checkpoint: relations.checkpoint }).filter(
    ([, text]) => text !== null,
  );
  const fields = [...rowFields(job), ...beside, ...stored];
  return `{\n${fields.map(([name, text]) => `  ${JSON.stringify(name)}: ${text}`).join(',\n')}\n}\n`;
}

/** An approval is told with all that is known of it. */
const SHOWN = JOB_FIELDS.filter(({ name, shown }) => shown !== undefined && name !== 'approval');

function rowFields(job: Job): (readonly [name: string, text: string])[] {
  return SHOWN.flatMap(({ name, is, shown, default: usual }) => {
    const value = name === 'blockedOn' ? blockedOnOf(job) : job[name];
    if (value === usual && shown !== 'always') return [];
    if (typeof value === 'number' && is === 'time') return [[name, JSON.stringify(isoTime(value))]];
    const isJson = is === 'json' || is === 'texts';
    return [[name, typeof value === 'string' && isJson ? value : JSON.stringify(value)]];
  });
}

function besideRow(
  job: Job,
  { input, comments, typeName, retryOfId, parentId }: JobDetails,
  { after, run, approval, questions }: Relations,
) {
  return {
    status: SPINE_STATUS_OF[job.state],
    type: typeName ?? undefined,
    title: input.title ?? undefined,
    description: input.description ?? undefined,
    tags: input.tags.length > 0 ? input.tags : undefined,
    retry: { mode: job.retryMode, max: job.retryMax, backoffMs: job.backoffMs, count: job.retryCount },
    retryOf: retryOfId ?? undefined,
    parentId: parentId ?? undefined,
    run: runFields(run),
    approval: approvalFields(approval),
    asked: questions.length > 0 ? questions.map(questionFields) : undefined,
    after: after.length > 0 ? after : undefined,
    releaseReason: job.reason ?? undefined,
    comments: comments.map(({ at, by, text }) => ({ t: isoTime(at), by, text })),
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

function questionFields(question: Question): object {
  const { id, text, to, choices, schema, fallback, status, askedBy, answer, answeredBy } = question;
  return {
    id,
    question: text,
    to,
    choices: choices ?? undefined,
    schema: schema === null ? undefined : (JSON.parse(schema) as unknown),
    default: fallback === null ? undefined : (JSON.parse(fallback) as unknown),
    askedBy,
    askedAt: isoTime(question.askedAt),
    expiresAt: isoTime(question.expiresAt),
    status,
    answer: answer === null ? undefined : (JSON.parse(answer) as unknown),
    answeredBy: answeredBy ?? undefined,
    answeredAt: isoOr(undefined, question.answeredAt),
  };
}

/** v0 shows a job without a spec as an empty text, and one without meta as an empty object. */
function storedJson({ input, result, error }: JobDetails): Record<string, string | null> {
  return {
    spec: input.spec ?? '""',
    meta: input.meta ?? '{}',
    params: input.params,
    budget: input.budget,
    result: result ?? 'null',
    error: error ?? 'null',
  };
}

/** One line of events/<id>.jsonl. Facts that bear one of the line's own names are kept under `facts`. */
export function eventLine({ seq, at, kind, by, facts }: JobEvent): string {
  const own = { t: isoTime(at), seq, type: kind, by };
  const free: Record<string, unknown> = {};
  const clashing: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(facts ?? {}))
    (name in own || name === 'facts' ? clashing : free)[name] = shown(name, value);
  return `${JSON.stringify({ ...own, ...free, ...(Object.keys(clashing).length > 0 && { facts: clashing }) })}\n`;
}

export function typeDocument(type: JobType): string {
  return `${JSON.stringify({ ...type, createdAt: isoTime(type.createdAt), updatedAt: isoTime(type.updatedAt) }, null, 2)}\n`;
}

function shown(name: string, value: unknown): unknown {
  return isTimeFact(name, value) ? isoTime(value) : value;
}

function isoOr<T>(none: T, ms: number | null): string | T {
  return ms === null ? none : isoTime(ms);
}
