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
  /** What people call it. Required. */
  readonly name: string;
  /** What it is for. */
  readonly description?: string | null;
  /** Whether it fires by itself. */
  readonly enabled?: boolean;
  /** Found out from the other fields; only `manual` must be said. */
  readonly schedule_kind?: ScheduleKind | null;
  /** Five fields, six with seconds first, or @hourly and the like. */
  readonly schedule_cron?: string | null;
  /** Time zone of the cron expression. */
  readonly schedule_tz?: string | null;
  /** The one time it fires; of an interval, the first time. Without an offset it is meant in schedule_tz. An ISO 8601 time, or epoch milliseconds. */
  readonly schedule_at?: Time | null;
  /** Like schedule_at, counted from now: milliseconds, or text such as "15m". */
  readonly in?: number | string | null;
  /** Interval in milliseconds, or text such as "15m". */
  readonly schedule_every_ms?: number | string | null;
  /** The last moment at which it may be due. */
  readonly ends_at?: Time | null;
  /** How often it runs by itself before it is switched off. */
  readonly max_runs?: number | null;
  /** Its ticks come later by up to so much, always by the same. */
  readonly jitter_s?: number | null;
  /** When it fires next, whatever its rule says; then its rule goes on. */
  readonly next_run_at?: Time | null;
  /** What happens with ticks that were missed. */
  readonly catch_up?: 'skip' | 'once' | 'all' | null;
  /** How many missed ticks "all" makes up for, the newest ones. */
  readonly catch_up_max?: number | null;
  /** Ticks missed longer ago than this are not made up for. */
  readonly catch_up_window_s?: number | null;
  /** The schedule whose runs start this one. */
  readonly parent_id?: string | null;
  /** Which end of the parent starts it. Required with parent_id. */
  readonly trigger_on?: TriggerOn | null;
  /** Seconds to wait after the parent's end. */
  readonly trigger_delay_s?: number | null;
  /** `contains:<text>` or `regex:<pattern>`, looked for in the parent's output. */
  readonly trigger_condition?: string | null;
  /** How many children it may have. */
  readonly max_trigger_fanout?: number | null;
  /** Where runs go: an agent's own session, its main session, a command, or any worker. */
  readonly session_target?: SessionTarget | null;
  /** The agent. */
  readonly agent_id?: string | null;
  /** The gateway; the first configured one unless named. */
  readonly gateway?: string | null;
  /** What a run is; decided by session_target. */
  readonly payload_kind?: 'agentTurn' | 'systemEvent' | 'shellCommand' | 'job' | null;
  /** What the agent is told, or the command. Required unless session_target is queue. */
  readonly payload_message?: string | null;
  /** The model, when not the agent's own. */
  readonly payload_model?: string | null;
  /** How deep the agent thinks. */
  readonly payload_thinking?: string | null;
  /** How long the agent may be silent, where that is less than the server's limit; stale_threshold_s decides when it is set. */
  readonly payload_timeout_seconds?: number | null;
  /** Whose sub-agents a run looks at. */
  readonly payload_scope?: 'own' | 'global' | null;
  /** A session of the gateway to go on with. */
  readonly preferred_session_key?: string | null;
  /** Who may claim the runs of a queue. */
  readonly target?: string | null;
  /** The kind of work of a queue. */
  readonly type?: string | null;
  /** What the worker of a queue is given. */
  readonly params?: unknown;
  /** What a run may cost, for the worker of a queue: any JSON. */
  readonly budget?: unknown;
  /** A command or a URL that says, when it is due, whether there is work. */
  readonly probe?: string | null;
  /** How long the probe may take. */
  readonly probe_timeout_s?: number | null;
  /** Higher goes first. */
  readonly priority?: number | null;
  /** Hard limit of a run; none for agents, 300000 for shell. */
  readonly run_timeout_ms?: number | null;
  /** Silence after which a run counts as stale; the server's own unless set. */
  readonly stale_threshold_s?: number | null;
  /** What happens when the run before is not over. */
  readonly overlap_policy?: 'skip' | 'allow' | 'queue' | null;
  /** How many runs may wait for the one before. */
  readonly max_queued_dispatches?: number | null;
  /** How often a failed run is tried again. */
  readonly max_retries?: number | null;
  /** Runs of one pool share its slots. */
  readonly resource_pool?: string | null;
  /** Whether a run that crashed is replayed. */
  readonly delivery_guarantee?: 'at-most-once' | 'at-least-once' | null;
  /** Whether it is deleted after its first run that was ok. */
  readonly delete_after_run?: boolean | null;
  /** Whether somebody must approve each run before it starts. */
  readonly approval_required?: boolean | null;
  /** How long an approval is waited for. */
  readonly approval_timeout_s?: number | null;
  /** What happens when nobody answers. */
  readonly approval_auto?: 'approve' | 'reject' | null;
  /** How many approvals may be open at a time. */
  readonly max_pending_approvals?: number | null;
  /** `pre_compaction_flush` asks the agent to write down what matters. */
  readonly job_class?: 'standard' | 'pre_compaction_flush' | null;
  /** Which summaries of earlier runs the agent is given: none, the newest, or those that fit best. */
  readonly context_retrieval?: 'none' | 'recent' | 'hybrid' | null;
  /** How many of them. */
  readonly context_retrieval_limit?: number | null;
  /** What is delivered: announce is replies and failures, announce-always also HEARTBEAT_OK and the like, none is nothing. */
  readonly delivery_mode?: 'announce' | 'announce-always' | 'none' | null;
  /** Where to: telegram, slack, webhook, gateway, log, or one of the gateway's. */
  readonly delivery_channel?: string | null;
  /** To whom: an @alias, a target of the channel, or channel:target. Without it nothing is delivered. */
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
  /** Whether it was created, changed or left as it was. */
  readonly action: 'create' | 'change' | 'unchanged';
}

/** What a set of files says. A schedule's `parent` may name another one by its name. */
export interface ScheduleSet {
  /** Of the set: what it makes is marked `apply:<name>`. */
  readonly name: string;
  /** The schedules. */
  readonly schedules: readonly Readonly<Record<string, unknown>>[];
  /** The kinds of work. */
  readonly types?: readonly Readonly<Record<string, unknown>>[];
  /** The pools. */
  readonly pools?: readonly Readonly<Record<string, unknown>>[];
  /** Delete what the set made before and does not hold any more. */
  readonly prune?: boolean;
  /** Only show what would be. */
  readonly dry_run?: boolean;
}

export interface AppliedSet {
  /** Only show what would be. */
  readonly dry_run: boolean;
  /** Who keeps it: set by spine apply and spine import. */
  readonly managed_by: string;
  /** What became of each. */
  readonly results: readonly Applied[];
}

export interface Applied {
  /** Whether it is a schedule, a type or a pool. */
  readonly kind: 'schedule' | 'type' | 'pool';
  /** Its name. */
  readonly name: string;
  /** The id. */
  readonly id: string | null;
  /** `extra`: the set made it, does not hold it any more, and was not asked to prune. */
  readonly action: 'create' | 'change' | 'unchanged' | 'prune' | 'extra';
  /** What was changed, or would be. */
  readonly changes: readonly { readonly field: string; readonly from: unknown; readonly to: unknown }[];
}

export interface ScheduleFilter {
  /** Only those that fire by themselves, or only the others. */
  readonly enabled?: boolean;
  /** How many in a page. */
  readonly limit?: number;
}

export interface SchedulePage {
  /** The schedules. */
  readonly schedules: readonly Schedule[];
  /** The after of the next page; null when there is none. */
  readonly next_after: number | null;
}

export interface ScheduleNode {
  /** The id. */
  readonly id: string;
  /** Its name. */
  readonly name: string;
  /** Whether it fires by itself. */
  readonly enabled: boolean;
  /** When it fires, in words. */
  readonly rule: string;
  /** Which end of the parent starts it. Required with parent_id. */
  readonly trigger_on: TriggerOn | null;
  /** When it fires next. */
  readonly next_run_at: string | null;
  /** How its last run ended. */
  readonly last_status: RunStatus | null;
  /** Those that it triggers. */
  readonly children: readonly ScheduleNode[];
}

export interface CancelledSchedule extends Schedule {
  /** How many schedules were disabled. */
  readonly cancelled_schedules: readonly string[];
  /** How many runs were cancelled. */
  readonly cancelled_runs: readonly string[];
}

export interface DeletedSchedule {
  /** The id. */
  readonly id: string;
  /** That it is gone. */
  readonly deleted: true;
  /** How many schedules are gone. */
  readonly deleted_schedules: readonly string[];
  /** How many runs were cancelled. */
  readonly cancelled_runs: readonly string[];
}

export interface StartedRun {
  /** The id of the run. */
  readonly run_id: string;
  /** Where the run stands. */
  readonly status: RunStatus;
  /** Why it was skipped. */
  readonly reason: string | null;
}

export interface SchedulePreview {
  /** When it fires, in words. */
  readonly rule: string;
  /** When it fires next. */
  readonly next_runs: readonly string[];
}

/** A row of ticks that did not fire. */
export interface MissedTicks {
  /** The beginning of the time in which they were missed. */
  readonly from: string;
  /** The end of that time. */
  readonly until: string;
  /** How many there were. */
  readonly count: number;
  /** Why they were missed. */
  readonly reason: string | null;
  /** When this was written down. */
  readonly recorded_at: string;
}

export interface RunFilter {
  /** Only runs that stand there. */
  readonly status?: RunStatus;
  /** Only what comes before this: next_before of the last page. */
  readonly before?: number;
  /** How many at most. */
  readonly limit?: number;
}

export interface Run {
  /** The id. */
  readonly id: string;
  /** The schedule. */
  readonly job_id: string;
  /** Where it stands. */
  readonly status: RunStatus;
  /** When it began. */
  readonly started_at: string | null;
  /** When it ended. */
  readonly finished_at: string | null;
  /** How long it took, in ms. */
  readonly duration_ms: number | null;
  /** What the run said, in one line. */
  readonly summary: string | null;
  /** Cut in lists. */
  readonly output: string | null;
  /** What went wrong. */
  readonly error_message: string | null;
  /** When it was heard from last. */
  readonly last_heartbeat: string | null;
  /** The session at the gateway. */
  readonly session_key: string | null;
  /** The run at whose end this one began. */
  readonly triggered_by_run: string | null;
  /** The run that this one tries again. */
  readonly retry_of: string | null;
  /** How often it was tried again. */
  readonly retry_count: number;
  /** The run that this one does again. */
  readonly replay_of: string | null;
  /** What the run was given beside its message. */
  readonly context_summary: Readonly<Record<string, unknown>> | null;
  /** SHA-256 of what the agent was sent. */
  readonly prompt_hash: string | null;
  /** What the model used. */
  readonly usage: Readonly<Record<string, unknown>> | null;
  /** What kind it is. */
  readonly kind: 'cron' | 'catch_up' | 'manual' | 'chain' | 'spawn' | 'retry' | 'replay';
  /** When it was due. */
  readonly due_at: string | null;
  /** Why. */
  readonly reason: string | null;
  /** When it was made. */
  readonly created_at: string;
  /** Only of one run, not in lists. */
  readonly deliveries?: readonly Delivery[];
}

/** What the agent of a run was sent. The token in it is not shown; the hash is of the text with it. */
export interface RunPrompt {
  /** The id of the run. */
  readonly run_id: string;
  /** What the agent is sent. */
  readonly prompt: string;
  /** The SHA-256 of the text with its token. */
  readonly prompt_hash: string;
}

export interface RunPage {
  /** The runs. */
  readonly runs: readonly Run[];
  /** The before of the next page; null when there is none. */
  readonly next_before: number | null;
}

export type ApprovalStatus = 'pending' | 'approved' | 'rejected' | 'timed_out';

export interface ApprovalFilter {
  /** Only those that stand there. */
  readonly status?: ApprovalStatus;
  /** How many at most. */
  readonly limit?: number;
}

export interface Approval {
  /** That of the job that waits. */
  readonly id: string;
  /** The schedule, if one made the job. */
  readonly job_id: string | null;
  /** The id of the run. */
  readonly run_id: string;
  /** Its title, for lists. */
  readonly title: string | null;
  /** Where it stands. */
  readonly status: ApprovalStatus;
  /** When it was asked for. */
  readonly requested_at: string | null;
  /** When it is not worth reading any more. */
  readonly expires_at: string | null;
  /** How many seconds there are to decide. */
  readonly timeout_s: number;
  /** What happens when nobody decides in time. */
  readonly auto: 'approve' | 'reject';
  /** Names exactly what is agreed to. */
  readonly hash: string;
  /** When it was decided. */
  readonly resolved_at: string | null;
  /** Who decided. */
  readonly resolved_by: string | null;
  /** What the person wrote who decided. */
  readonly notes: string | null;
}

export interface Verdict {
  /** Why, for whoever reads it later. */
  readonly reason?: string;
  /** What was seen; refused when it is not what waits. */
  readonly hash?: string;
  /** `operator` when a person said so at a terminal; `api` unless said. */
  readonly by?: 'operator' | 'api';
}
