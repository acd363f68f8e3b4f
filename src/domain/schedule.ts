/** The schedule: what creates jobs, by the clock, by a parent's end, or by hand. The scheduler's text calls it a job. */

import type { ApprovalAuto } from './approval.ts';
import type { DependencyOn } from './command.ts';
import type { RunKind } from './run.ts';
import type { RunStatus } from './statuses.ts';

/** When it fires by itself; `child` only after its parent, `manual` only by hand. */
export type ScheduleKind = 'cron' | 'every' | 'at' | 'child' | 'manual';
/** Where its runs go: an agent's own session, the main session, a command, or any worker of a queue. */
export type SessionTarget = 'isolated' | 'main' | 'shell' | 'queue';
export type OverlapPolicy = 'skip' | 'allow' | 'queue';
export type CatchUp = 'skip' | 'once' | 'all';
export type DeliveryGuarantee = 'at-most-once' | 'at-least-once';

/** What a schedule says, with every default filled in. Names and units are those of the scheduler's text. */
export interface ScheduleSpec {
  readonly name: string;
  readonly description: string | null;

  readonly scheduleKind: ScheduleKind;
  readonly scheduleCron: string | null;
  readonly scheduleTz: string;
  readonly scheduleAt: number | null;
  readonly scheduleEveryMs: number | null;
  /** The last moment at which a tick may be due. */
  readonly endsAt: number | null;
  /** Runs by the clock or after a parent; those by hand do not count. */
  readonly maxRuns: number | null;
  /** Each tick comes later by up to so much, always by the same for one schedule. */
  readonly jitterS: number;
  readonly catchUp: CatchUp;
  /** How many missed ticks `all` makes up for, the newest ones. */
  readonly catchUpMax: number;
  /** Ticks that were missed longer ago than this are not made up for. */
  readonly catchUpWindowS: number;

  readonly parentId: string | null;
  readonly triggerOn: DependencyOn | null;
  readonly triggerDelayS: number;
  readonly triggerCondition: string | null;
  readonly maxTriggerFanout: number;

  readonly sessionTarget: SessionTarget;
  readonly agentId: string;
  readonly gateway: string;
  readonly payloadKind: 'agentTurn' | 'systemEvent' | 'shellCommand' | 'job';
  readonly payloadMessage: string;
  readonly payloadModel: string | null;
  readonly payloadThinking: string | null;
  readonly payloadTimeoutSeconds: number;
  readonly payloadScope: 'own' | 'global';
  readonly preferredSessionKey: string | null;
  /** Of `queue` runs: who may claim them, and what kind of work they are. */
  readonly target: string;
  readonly type: string | null;
  readonly params: unknown;
  readonly budget: unknown;
  readonly tags: readonly string[] | null;
  /** Whether the operator's chat is told of each end. */
  readonly announce: boolean;
  /** Asked when a tick of its clock is due: a command or a URL. */
  readonly probe: string | null;
  readonly probeTimeoutS: number;
  readonly priority: number;

  /** No hard limit when null: the implicit heartbeat decides. */
  readonly runTimeoutMs: number | null;
  readonly staleThresholdS: number | null;

  readonly overlapPolicy: OverlapPolicy;
  readonly maxQueuedDispatches: number;
  /** Null: as often as the type of the queue says. */
  readonly maxRetries: number | null;
  readonly resourcePool: string | null;
  readonly deliveryGuarantee: DeliveryGuarantee;
  readonly deleteAfterRun: boolean;

  readonly approvalRequired: boolean;
  readonly approvalTimeoutS: number;
  readonly approvalAuto: ApprovalAuto;
  readonly maxPendingApprovals: number;

  readonly jobClass: 'standard' | 'pre_compaction_flush';
  readonly contextRetrieval: 'none' | 'recent' | 'hybrid';
  readonly contextRetrievalLimit: number;
  readonly deliveryMode: 'announce' | 'announce-always' | 'none';
  readonly deliveryChannel: string | null;
  readonly deliveryTo: string | null;

  /** Who keeps it: `apply:<set>`, or where it was imported from. */
  readonly managedBy: string | null;
}

export interface Schedule {
  readonly no: number;
  readonly id: string;
  readonly spec: ScheduleSpec;
  readonly createdAt: number;
  readonly createdBy: string;
  /** The message that asked for it, when a running job spawned it. */
  readonly spawnedBy: string | null;
  enabled: boolean;
  updatedAt: number;
  nextRunAt: number | null;
  lastRunAt: number | null;
  lastStatus: RunStatus | null;
  consecutiveErrors: number;
  /** Runs that count for `maxRuns`. */
  runCount: number;
}

export interface Named {
  readonly id: string;
  /** A run asked for the schedule and wrote its name. */
  readonly isSpawned?: true;
}

/** What a run takes along from its schedule, as it was then: later changes do not touch it. Kept as the job's `meta`. */
export interface RunPlan {
  readonly schedule: Omit<ScheduleSpec, 'payloadMessage' | 'params' | 'budget'> & Named;
  readonly run: RunKind;
  /** The tick it stands for. */
  readonly dueAt: number | null;
  readonly trigger: TriggerContext | null;
}

/** Where it stands in the meta: what is said of a run later stands under other names. */
export const PLAN_NAMES = ['schedule', 'run', 'dueAt', 'trigger'] as const satisfies (keyof RunPlan)[];

/** What a child learns of the run that started it. */
export interface TriggerContext {
  readonly runId: string;
  readonly scheduleId: string;
  readonly scheduleName: string;
  /** A run asked for that schedule and wrote its name. */
  readonly isSpawned?: true;
  readonly status: RunStatus;
  readonly output: string;
  readonly exitCode: number | null;
  readonly stderr: string | null;
}

/** When a schedule fires by the clock; null when only a parent or a hand does it. */
export type TimeRule =
  | { readonly kind: 'cron'; readonly cron: string; readonly tz: string }
  | { readonly kind: 'every'; readonly everyMs: number; readonly anchorAt: number }
  | { readonly kind: 'at'; readonly at: number };

export function timeRule({ spec, createdAt }: Pick<Schedule, 'spec' | 'createdAt'>): TimeRule | null {
  const { scheduleKind, scheduleCron, scheduleTz, scheduleAt, scheduleEveryMs } = spec;
  if (scheduleKind === 'cron' && scheduleCron !== null)
    return { kind: 'cron', cron: scheduleCron, tz: scheduleTz };
  if (scheduleKind === 'every' && scheduleEveryMs !== null)
    return { kind: 'every', everyMs: scheduleEveryMs, anchorAt: scheduleAt ?? createdAt };
  if (scheduleKind === 'at' && scheduleAt !== null) return { kind: 'at', at: scheduleAt };
  return null;
}

/** Who claims the runs. */
export function targetOf(spec: Pick<ScheduleSpec, 'sessionTarget' | 'gateway' | 'target'>): string {
  if (spec.sessionTarget === 'queue') return spec.target;
  return spec.sessionTarget === 'shell' ? 'shell' : `gateway:${spec.gateway}`;
}

/** What a run that was told to wait for the one before it is blocked on. The slash keeps it apart from pools. */
export function overlapQueue(scheduleId: string): string {
  return `overlap/${scheduleId}`;
}

export const LONGEST_HOLD_MS = 3_600_000;
const BACKOFF_LADDER_MS = [30_000, 60_000, 300_000, 900_000, LONGEST_HOLD_MS];

/** How long a schedule is held back after so many failures in a row. */
export function holdBackMs(consecutiveErrors: number): number {
  if (consecutiveErrors <= 0) return 0;
  return BACKOFF_LADDER_MS[Math.min(consecutiveErrors, BACKOFF_LADDER_MS.length) - 1] ?? 0;
}

/** Differs after every change, unless two came in the same millisecond. */
export interface ScheduleStamp extends Pick<Schedule, 'no' | 'id' | 'updatedAt'> {
  readonly stamp: string;
}

/** All schedules together: how many there are, the newest of them, and when one of them changed last. */
export interface ScheduleMark {
  readonly count: number;
  readonly lastNo: number;
  readonly changedAt: number;
}

export interface ScheduleEdge {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
}
