/** Schedules, runs and approvals as their door shows them: the names of the text, times as ISO. */

import { isJsonObject } from '../../../domain/json-object.ts';
import { rawOutput, summaryOf } from '../../../domain/output.ts';
import type { Schedule } from '../../../domain/schedule.ts';
import { toSnake } from '../../../domain/schedule-draft.ts';
import { scheduleInWords } from '../../../domain/schedule-words.ts';
import { runStatusOf } from '../../../domain/statuses.ts';
import type { Engine } from '../../../engine/engine.ts';
import { iso } from '../../iso.ts';

type RunRecord = Awaited<ReturnType<Engine['runs']['get']>>;
type ApprovalRecord = Awaited<ReturnType<Engine['approvals']['get']>>;
type Tick = Awaited<ReturnType<Engine['schedules']['missed']>>[number];

/** Of an output this much stands in a list; the run itself shows all of it. */
const LISTED_OUTPUT_CHARS = 2_000;

/** `parentName` is null where it is not known, or not for this caller. */
export function scheduleView(
  schedule: Schedule,
  queuedCount: number,
  parentName: string | null,
): Record<string, unknown> {
  const { id, enabled, spec } = schedule;
  return {
    id,
    enabled,
    ...toSnake(spec),
    rule: scheduleInWords(schedule, parentName),
    next_run_at: isoOrNull(schedule.nextRunAt),
    last_run_at: isoOrNull(schedule.lastRunAt),
    last_status: schedule.lastStatus,
    consecutive_errors: schedule.consecutiveErrors,
    run_count: schedule.runCount,
    queued_count: queuedCount,
    created_at: iso(schedule.createdAt),
    created_by: schedule.createdBy,
    updated_at: iso(schedule.updatedAt),
    spawned_by: schedule.spawnedBy,
  };
}

export function nodeView(schedule: Schedule, parentName: string | null): object {
  return {
    id: schedule.id,
    name: schedule.spec.name,
    enabled: schedule.enabled,
    rule: scheduleInWords(schedule, parentName),
    trigger_on: schedule.spec.triggerOn,
    next_run_at: isoOrNull(schedule.nextRunAt),
    last_status: schedule.lastStatus,
  };
}

export function missedView({ at, untilAt, n, reason, recordedAt }: Tick): object {
  return { from: iso(at), until: iso(untilAt), count: n, reason, recorded_at: iso(recordedAt) };
}

export function runView(record: RunRecord): object {
  const { job, run, startedAt, result, error, earlierId } = record;
  const isReplay = run.kind === 'replay';
  const output = result === null && error === null ? null : rawOutput(result, error).text;
  return {
    id: job.id,
    job_id: run.scheduleId,
    status: runStatusOf(job),
    started_at: isoOrNull(startedAt),
    finished_at: isoOrNull(job.finishedAt),
    duration_ms: startedAt === null || job.finishedAt === null ? null : job.finishedAt - startedAt,
    summary: output === null ? null : summaryOf(output),
    output,
    error_message: errorMessage(record),
    last_heartbeat: isoOrNull(lastSign(record)),
    session_key: run.sessionKey,
    triggered_by_run: record.triggeredById,
    retry_of: isReplay ? null : earlierId,
    retry_count: job.retryCount,
    replay_of: isReplay ? earlierId : null,
    context_summary: objectIn(run.contextSummary),
    prompt_hash: run.promptHash,
    usage: usageView(objectIn(result, 'usage') ?? objectIn(error, 'usage')),
    kind: run.kind,
    due_at: isoOrNull(run.dueAt),
    reason: job.reason,
    created_at: iso(job.createdAt),
  };
}

export function listedRun(record: RunRecord): object {
  const view = runView(record) as { output: string | null };
  const { output } = view;
  if (output === null || output.length <= LISTED_OUTPUT_CHARS) return view;
  return { ...view, output: `${output.slice(0, LISTED_OUTPUT_CHARS).toWellFormed()}…` };
}

/** What a worker wrote down, else the last it did to the job itself. */
function lastSign({ job, run, startedAt }: RunRecord): number | null {
  if (run.lastHeartbeat !== null || startedAt === null) return run.lastHeartbeat;
  return job.state === 'running' ? job.updatedAt : null;
}

/** Of a run that was cancelled or skipped the reason is all there is to say. */
function errorMessage({ job, error }: RunRecord): string | null {
  if (error === null) return job.state === 'done' ? null : job.reason;
  const value = parsed(error);
  if (typeof value === 'string') return value;
  const { message, error: words } = (value ?? {}) as { message?: unknown; error?: unknown };
  if (typeof message === 'string') return message;
  return typeof words === 'string' ? words : error;
}

/** A failed turn took its tokens, too. Names are this door's. */
function usageView(usage: object | null): object | null {
  if (usage === null) return null;
  return Object.fromEntries(Object.entries(usage).map(([name, value]) => [snake(name), value]));
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function objectIn(json: string | null, key?: string): object | null {
  const whole = json === null ? null : parsed(json);
  const value = key === undefined ? whole : (whole as Record<string, unknown> | null)?.[key];
  return isJsonObject(value) ? value : null;
}

/** What is not JSON was written by hand: it stands for itself. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

export function approvalView(approval: ApprovalRecord): object {
  return {
    id: approval.jobId,
    job_id: approval.scheduleId,
    run_id: approval.jobId,
    title: approval.title,
    status: approval.status,
    requested_at: isoOrNull(approval.requestedAt),
    expires_at: isoOrNull(approval.expiresAt),
    timeout_s: Math.round(approval.timeoutMs / 1_000),
    auto: approval.auto,
    hash: approval.hash,
    resolved_at: isoOrNull(approval.resolvedAt),
    resolved_by: approval.resolvedBy,
    notes: approval.notes,
  };
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}
