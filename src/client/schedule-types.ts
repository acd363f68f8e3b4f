/** What the server takes and answers about schedules. Times in answers are ISO 8601 in UTC. */

import type { Delivery } from './delivery-types.ts';
import type { Time } from './types.ts';

export type RunStatus =
  | 'pending'
  | 'awaiting_approval'
  | 'running'
  | 'ok'
  | 'error'
  | 'timeout'
  | 'crashed'
  | 'cancelled'
  | 'skipped';

type ScheduleKind = 'cron' | 'every' | 'at' | 'child' | 'manual';
type SessionTarget = 'isolated' | 'main' | 'shell' | 'queue';
type TriggerOn = 'success' | 'failure' | 'complete';

/** Everything but a name and a trigger has a default. Null asks for the default. */
export interface NewSchedule {
  readonly name: string;
  readonly description?: string | null;
  readonly enabled?: boolean;
  /** Found out from the other fields; only `manual` must be said. */
  readonly schedule_kind?: ScheduleKind | null;
  /** Five fields, six with seconds first, or @hourly and the like. */
  readonly schedule_cron?: string | null;
  readonly schedule_tz?: string | null;
  readonly schedule_at?: Time | null;
  /** Like schedule_at, counted from now: milliseconds, or text such as "15m". */
  readonly in?: number | string | null;
  readonly schedule_every_ms?: number | string | null;
  /** The last moment at which it may be due. */
  readonly ends_at?: Time | null;
  /** How often it runs by itself before it is switched off. */
  readonly max_runs?: number | null;
  /** Its ticks come later by up to so much, always by the same. */
  readonly jitter_s?: number | null;
  /** When it fires next, whatever its rule says; then its rule goes on. */
  readonly next_run_at?: Time | null;
  readonly catch_up?: 'skip' | 'once' | 'all' | null;
  readonly catch_up_max?: number | null;
  readonly catch_up_window_s?: number | null;
  readonly parent_id?: string | null;
  readonly trigger_on?: TriggerOn | null;
  readonly trigger_delay_s?: number | null;
  /** `contains:<text>` or `regex:<pattern>`, looked for in the parent's output. */
  readonly trigger_condition?: string | null;
  readonly max_trigger_fanout?: number | null;
  readonly session_target?: SessionTarget | null;
  readonly agent_id?: string | null;
  readonly gateway?: string | null;
  readonly payload_kind?: 'agentTurn' | 'systemEvent' | 'shellCommand' | 'job' | null;
  readonly payload_message?: string | null;
  readonly payload_model?: string | null;
  readonly payload_thinking?: string | null;
  readonly payload_timeout_seconds?: number | null;
  readonly payload_scope?: 'own' | 'global' | null;
  readonly preferred_session_key?: string | null;
  readonly target?: string | null;
  readonly type?: string | null;
  readonly params?: unknown;
  readonly budget?: unknown;
  /** A command or a URL that says, when it is due, whether there is work. */
  readonly probe?: string | null;
  readonly probe_timeout_s?: number | null;
  readonly priority?: number | null;
  readonly run_timeout_ms?: number | null;
  readonly stale_threshold_s?: number | null;
  readonly overlap_policy?: 'skip' | 'allow' | 'queue' | null;
  readonly max_queued_dispatches?: number | null;
  readonly max_retries?: number | null;
  readonly resource_pool?: string | null;
  readonly delivery_guarantee?: 'at-most-once' | 'at-least-once' | null;
  readonly delete_after_run?: boolean | null;
  readonly approval_required?: boolean | null;
  readonly approval_timeout_s?: number | null;
  readonly approval_auto?: 'approve' | 'reject' | null;
  readonly max_pending_approvals?: number | null;
  readonly job_class?: 'standard' | 'pre_compaction_flush' | null;
  readonly context_retrieval?: 'none' | 'recent' | 'hybrid' | null;
  readonly context_retrieval_limit?: number | null;
  readonly delivery_mode?: 'announce' | 'announce-always' | 'none' | null;
  readonly delivery_channel?: string | null;
  readonly delivery_to?: string | null;
  /** Who keeps it: set by `spine apply` and `spine import`. */
  readonly managed_by?: string | null;
}

/** A schedule with every default filled in. */
export interface Schedule
  extends Required<Omit<NewSchedule, 'in' | 'schedule_at' | 'ends_at' | 'next_run_at'>> {
  readonly id: string;
  readonly enabled: boolean;
  readonly schedule_kind: ScheduleKind;
  readonly schedule_tz: string;
  readonly schedule_at: string | null;
  readonly ends_at: string | null;
  readonly session_target: SessionTarget;
  readonly agent_id: string;
  /** When it fires, as a sentence. */
  readonly rule: string;
  readonly next_run_at: string | null;
  readonly last_run_at: string | null;
  readonly last_status: RunStatus | null;
  readonly consecutive_errors: number;
  /** Runs by the clock or after a parent. */
  readonly run_count: number;
  /** Runs that wait for the one before. */
  readonly queued_count: number;
  readonly created_at: string;
  readonly created_by: string;
  readonly updated_at: string;
  /** The message that asked for it. */
  readonly spawned_by: string | null;
}

/** The schedule of that name as it is now, and what became of it. */
export interface PutSchedule extends Schedule {
  readonly action: 'create' | 'change' | 'unchanged';
}

/** What a set of files says. A schedule's `parent` may name another one by its name. */
export interface ScheduleSet {
  /** Of the set: what it makes is marked `apply:<name>`. */
  readonly name: string;
  readonly schedules: readonly Readonly<Record<string, unknown>>[];
  readonly types?: readonly Readonly<Record<string, unknown>>[];
  readonly pools?: readonly Readonly<Record<string, unknown>>[];
  /** Delete what the set made before and does not hold any more. */
  readonly prune?: boolean;
  readonly dry_run?: boolean;
}

export interface AppliedSet {
  readonly dry_run: boolean;
  readonly managed_by: string;
  readonly results: readonly Applied[];
}

export interface Applied {
  readonly kind: 'schedule' | 'type' | 'pool';
  readonly name: string;
  readonly id: string | null;
  /** `extra`: the set made it, does not hold it any more, and was not asked to prune. */
  readonly action: 'create' | 'change' | 'unchanged' | 'prune' | 'extra';
  readonly changes: readonly { readonly field: string; readonly from: unknown; readonly to: unknown }[];
}

export interface ScheduleFilter {
  readonly enabled?: boolean;
  readonly limit?: number;
}

export interface SchedulePage {
  readonly schedules: readonly Schedule[];
  readonly next_after: number | null;
}

export interface ScheduleNode {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly rule: string;
  readonly trigger_on: TriggerOn | null;
  readonly next_run_at: string | null;
  readonly last_status: RunStatus | null;
  readonly children: readonly ScheduleNode[];
}

export interface CancelledSchedule extends Schedule {
  readonly cancelled_schedules: readonly string[];
  readonly cancelled_runs: readonly string[];
}

export interface DeletedSchedule {
  readonly id: string;
  readonly deleted: true;
  readonly deleted_schedules: readonly string[];
  readonly cancelled_runs: readonly string[];
}

export interface StartedRun {
  readonly run_id: string;
  readonly status: RunStatus;
  /** Why it was skipped. */
  readonly reason: string | null;
}

export interface SchedulePreview {
  readonly rule: string;
  readonly next_runs: readonly string[];
}

/** A row of ticks that did not fire. */
export interface MissedTicks {
  readonly from: string;
  readonly until: string;
  readonly count: number;
  readonly reason: string | null;
  readonly recorded_at: string;
}

export interface RunFilter {
  readonly status?: RunStatus;
  readonly before?: number;
  readonly limit?: number;
}

export interface Run {
  readonly id: string;
  /** The schedule. */
  readonly job_id: string;
  readonly status: RunStatus;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly duration_ms: number | null;
  readonly summary: string | null;
  /** Cut in lists. */
  readonly output: string | null;
  readonly error_message: string | null;
  readonly last_heartbeat: string | null;
  readonly session_key: string | null;
  readonly triggered_by_run: string | null;
  readonly retry_of: string | null;
  readonly retry_count: number;
  readonly replay_of: string | null;
  readonly context_summary: Readonly<Record<string, unknown>> | null;
  /** SHA-256 of what the agent was sent. */
  readonly prompt_hash: string | null;
  readonly usage: Readonly<Record<string, unknown>> | null;
  readonly kind: 'cron' | 'catch_up' | 'manual' | 'chain' | 'spawn' | 'retry' | 'replay';
  readonly due_at: string | null;
  readonly reason: string | null;
  readonly created_at: string;
  /** Only of one run, not in lists. */
  readonly deliveries?: readonly Delivery[];
}

/** What the agent of a run was sent. The token in it is not shown; the hash is of the text with it. */
export interface RunPrompt {
  readonly run_id: string;
  readonly prompt: string;
  readonly prompt_hash: string;
}

export interface RunPage {
  readonly runs: readonly Run[];
  readonly next_before: number | null;
}

export type ApprovalStatus = 'pending' | 'approved' | 'rejected' | 'timed_out';

export interface ApprovalFilter {
  readonly status?: ApprovalStatus;
  readonly limit?: number;
}

export interface Approval {
  /** That of the job that waits. */
  readonly id: string;
  /** The schedule, if one made the job. */
  readonly job_id: string | null;
  readonly run_id: string;
  readonly title: string | null;
  readonly status: ApprovalStatus;
  readonly requested_at: string | null;
  readonly expires_at: string | null;
  readonly timeout_s: number;
  /** What happens when nobody decides in time. */
  readonly auto: 'approve' | 'reject';
  /** Names exactly what is agreed to. */
  readonly hash: string;
  readonly resolved_at: string | null;
  readonly resolved_by: string | null;
  readonly notes: string | null;
}

export interface Verdict {
  readonly reason?: string;
  /** What was seen; refused when it is not what waits. */
  readonly hash?: string;
  /** `operator` when a person said so at a terminal; `api` unless said. */
  readonly by?: 'operator' | 'api';
}
