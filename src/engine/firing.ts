/** Makes one run of a schedule: at once, in line behind the one under way, or skipped with its reason. */

import { admit } from '../domain/admit.ts';
import type { ApprovalTerms } from '../domain/command.ts';
import { type Job, type JobInput, OPEN, SETTLED } from '../domain/job.ts';
import { bareType, LINEAGE_RETRIES } from '../domain/job-type.ts';
import { newJob, type NewJobRow } from '../domain/new-job.ts';
import { unsizedPool } from '../domain/pool.ts';
import { contextAtFiring } from '../domain/run-context.ts';
import { COUNTED_KINDS, RUN_ACTIVE, RUN_ENDED, RUN_WAITING, type RunKind } from '../domain/run.ts';
import {
  overlapQueue,
  type RunPlan,
  type Schedule,
  type ScheduleSpec,
  targetOf,
  type TriggerContext,
} from '../domain/schedule.ts';
import { scored } from '../domain/scoring.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import { newApproval } from './new-approval.ts';
import type { ChangeSet } from './change-set.ts';

/** The first retry comes after this, each further one after twice as long. */
const RETRY_MS = 30_000;

export interface Occasion {
  readonly kind: RunKind;
  readonly dueAt: number | null;
  readonly delayMs?: number;
  /** The run whose end is the reason, and what is to be known of it. */
  readonly trigger?: { readonly job: Job; readonly context: TriggerContext };
  /** What its probe said. */
  readonly probed?: string;
  /** Missed work that is made up for waits in line even where an overlap would be skipped. */
  readonly inLine?: boolean;
}

type Fate =
  | { readonly go: 'now' }
  | { readonly go: 'wait' }
  | { readonly go: 'skip'; readonly reason: string };

/** The schedule must be locked: then nobody else starts one of its runs at the same time. */
export async function fire(
  core: Core,
  tx: Tx,
  changeSet: ChangeSet,
  schedule: Schedule,
  occasion: Occasion,
): Promise<Job> {
  const fate = await fateOf(tx, schedule, occasion);
  const plan = planOf(schedule, occasion);
  const row = {
    job: await rowOf(core, tx, changeSet.now, schedule, occasion, fate),
    input: inputOf(schedule.spec, plan),
  };
  const [job] = await changeSet.insert(tx, [row], () => ({
    kind: 'job.created',
    by: 'scheduler',
    facts: {
      target: row.job.target,
      state: row.job.state,
      schedule: schedule.id,
      run: occasion.kind,
      ...(occasion.probed !== undefined && { probe: occasion.probed }),
      ...reasonOf(fate),
    },
  }));
  const made = job as Job;
  await tx.runs.insert([
    {
      jobNo: made.no,
      scheduleId: schedule.id,
      kind: occasion.kind,
      dueAt: occasion.dueAt,
      triggeredBy: occasion.trigger?.job.no ?? null,
      active: ACTIVITY[fate.go],
      sessionKey: null,
      transport: null,
      dispatchedAt: null,
      lastHeartbeat: null,
      contextSummary: contextAtFiring(plan, made.state),
      promptHash: null,
    },
  ]);
  if (fate.go === 'skip') return made;
  const approvalTerms = approvalTermsOf(schedule);
  if (approvalTerms !== null) await tx.approvals.insert(newApproval(made, row.input, approvalTerms));
  schedule.lastRunAt = changeSet.now;
  if (COUNTED_KINDS.includes(occasion.kind)) schedule.runCount += 1;
  // Whoever writes schedules down looks at nothing else to see that they changed.
  schedule.updatedAt = changeSet.now;
  return made;
}

const ACTIVITY = { now: RUN_ACTIVE, wait: RUN_WAITING, skip: RUN_ENDED } as const;

async function fateOf(tx: Tx, { id, spec }: Schedule, occasion: Occasion): Promise<Fate> {
  if (spec.approvalRequired && (await tx.approvals.countPending(id)) >= spec.maxPendingApprovals)
    return { go: 'skip', reason: `${spec.maxPendingApprovals} runs wait for an approval already` };
  if (spec.overlapPolicy === 'allow') return { go: 'now' };
  const { active, waiting } = await tx.runs.overlap(id);
  if (active + waiting === 0) return { go: 'now' };
  if (occasion.inLine) return { go: 'wait' };
  if (spec.overlapPolicy === 'skip') return { go: 'skip', reason: 'the run before it was still under way' };
  if (waiting < spec.maxQueuedDispatches) return { go: 'wait' };
  return { go: 'skip', reason: `${waiting} runs wait in line already` };
}

function reasonOf(fate: Fate): { reason?: string } {
  return fate.go === 'skip' ? { reason: fate.reason } : {};
}

function approvalTermsOf({ spec }: Schedule): ApprovalTerms | null {
  if (!spec.approvalRequired) return null;
  return { timeoutMs: spec.approvalTimeoutS * 1_000, auto: spec.approvalAuto };
}

async function rowOf(
  core: Core,
  tx: Tx,
  now: number,
  schedule: Schedule,
  occasion: Occasion,
  fate: Fate,
): Promise<NewJobRow> {
  const { spec } = schedule;
  const runAt = now + (occasion.delayMs ?? 0);
  const approval = spec.approvalRequired ? 'needed' : 'none';
  const skipped = fate.go === 'skip';
  const ready = {
    now: admit({ waitingFor: 0, runAt, approval }, now),
    wait: 'blocked',
    skip: 'skipped',
  } as const;
  if (spec.resourcePool !== null) await tx.pools.ensure(unsizedPool(spec.resourcePool), now);
  const type = spec.type === null ? undefined : (await core.types()).get(spec.type);
  const tags = spec.tags ?? [];
  return newJob({
    id: core.ids.jobId(now),
    typeNo: spec.type === null ? 0 : await typeNoOf(core, tx, spec.type, now),
    target: targetOf(spec),
    createdAt: now,
    createdBy: 'scheduler',
    leaseMs: core.settings.leaseMs,
    timeoutMs: spec.runTimeoutMs,
    retryMode: 'lineage',
    retryMax: spec.maxRetries ?? type?.maxRetries ?? LINEAGE_RETRIES,
    announce: spec.announce,
    backoffMs: RETRY_MS,
    scheduleId: schedule.id,
    pool: spec.resourcePool,
    state: ready[fate.go],
    updatedAt: now,
    ...scored(type?.scoring ?? null, { priority: spec.priority, tags, readyAt: runAt }, now),
    runAt,
    maxAttempts: 1,
    approval,
    settled: skipped ? SETTLED : OPEN,
    finishedAt: skipped ? now : null,
    reason: skipped ? fate.reason : null,
    blockedOn: fate.go === 'wait' ? overlapQueue(schedule.id) : null,
  });
}

/** A type that this server has not heard of was made by another one, or by this very transaction. */
async function typeNoOf(core: Core, tx: Tx, name: string, now: number): Promise<number> {
  const known = (await core.types()).get(name);
  if (known !== undefined) return known.no;
  return (await tx.types.save(bareType(name), now)).no;
}

/** The run keeps what its schedule said when it was made. */
function planOf({ id, spec, spawnedBy }: Schedule, { kind, dueAt, trigger }: Occasion): RunPlan {
  const { payloadMessage: _, params: __, budget: ___, ...rest } = spec;
  const schedule = { ...rest, id, ...(spawnedBy !== null && { isSpawned: true as const }) };
  return { schedule, run: kind, dueAt, trigger: trigger?.context ?? null };
}

function inputOf(spec: ScheduleSpec, plan: RunPlan): JobInput {
  const { payloadMessage, params, budget, tags } = spec;
  return {
    title: spec.name,
    description: spec.description,
    spec: JSON.stringify(payloadMessage),
    meta: JSON.stringify(plan),
    params: jsonOf(params),
    tags: tags ?? [],
    budget: jsonOf(budget),
  };
}

/** Null where there is none. */
function jsonOf(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
