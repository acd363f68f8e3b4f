/** What the end of a run means for its schedule: backoff, children, the next in line, one-shots that are done. */

import { admit, dependencyMet } from '../domain/admit.ts';
import { conditionMet } from '../domain/condition.ts';
import type { Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import { rawOutput } from '../domain/output.ts';
import type { Schedule, TriggerContext } from '../domain/schedule.ts';
import { type RunStatus, runStatusOf } from '../domain/words.ts';
import type { Tx } from '../store/store.ts';
import { RUN_ACTIVE, RUN_ENDED } from '../store/types/scheduling.ts';
import type { Core } from './core.ts';
import { fire } from './firing.ts';
import { endHold, holdBack } from './holding.ts';
import type { Ledger } from './ledger.ts';

const BAD: readonly RunStatus[] = ['error', 'timeout', 'crashed'];

/** `relatives` are locked: the run's schedule, those above it, and its children. */
export async function afterRun(
  core: Core,
  tx: Tx,
  ledger: Ledger,
  job: Job,
  relatives: readonly Schedule[],
): Promise<void> {
  await tx.setActivity(job.no, RUN_ENDED);
  const schedule = relatives.find(({ id }) => id === job.scheduleId);
  if (schedule === undefined) return;
  const status = runStatusOf(job);
  await judge(tx, ledger, schedule, status);
  const children = relatives.filter(({ spec }) => spec.parentId === schedule.id);
  // Whoever cancelled a run did not want what follows it either.
  const fired = status === 'cancelled' ? [] : await fireChildren(core, tx, ledger, job, schedule, children);
  await letNextGo(tx, ledger, schedule);
  await tx.saveSchedules([schedule, ...fired]);
}

async function judge(tx: Tx, ledger: Ledger, schedule: Schedule, status: RunStatus): Promise<void> {
  schedule.lastStatus = status;
  schedule.updatedAt = ledger.now;
  if (status === 'ok' && schedule.consecutiveErrors > 0) {
    schedule.consecutiveErrors = 0;
    await endHold(tx, ledger.now, schedule);
  }
  if (!BAD.includes(status)) return;
  schedule.consecutiveErrors += 1;
  await holdBack(tx, ledger.now, schedule);
}

async function fireChildren(
  core: Core,
  tx: Tx,
  ledger: Ledger,
  job: Job,
  parent: Schedule,
  children: readonly Schedule[],
): Promise<readonly Schedule[]> {
  const wanted = children.filter(
    ({ enabled, spec }) => enabled && spec.triggerOn !== null && dependencyMet(spec.triggerOn, job.state),
  );
  if (wanted.length === 0) return [];
  const context = await contextOf(tx, job, parent);
  const met = wanted.filter(
    ({ spec }) => spec.triggerCondition === null || conditionMet(spec.triggerCondition, context.output),
  );
  for (const child of met) {
    // A run that was opened again ends a second time; its children have had their turn.
    if (await tx.hasTriggered(job.no, child.id)) continue;
    const trigger = {
      job,
      context: { ...context, output: context.output.slice(0, LIMITS.triggerOutputChars) },
    };
    const delayMs = child.spec.triggerDelayS * 1_000;
    await fire(core, tx, ledger, child, { kind: 'chain', dueAt: null, delayMs, trigger });
  }
  return met;
}

async function contextOf(tx: Tx, job: Job, parent: Schedule): Promise<TriggerContext> {
  const { result, error } = await tx.outcomeOf(job.no);
  const { text, exitCode, stderr } = rawOutput(result, error);
  return {
    runId: job.id,
    scheduleId: parent.id,
    scheduleName: parent.spec.name,
    status: runStatusOf(job),
    output: text,
    exitCode,
    stderr: stderr?.slice(0, LIMITS.triggerOutputChars) ?? null,
  };
}

/** One run that waited in line takes the place of the one that ended. */
async function letNextGo(tx: Tx, ledger: Ledger, schedule: Pick<Schedule, 'id' | 'spec'>): Promise<void> {
  const { active } = await tx.overlap(schedule.id);
  if (active > 0 && schedule.spec.overlapPolicy !== 'allow') return;
  const no = await tx.firstWaiting(schedule.id);
  if (no === null) return;
  const [found] = await tx.lockJobsByNo([no]);
  const job = found && ledger.load(found);
  if (job?.state !== 'blocked') return;
  const next: Job = { ...job, blockedOn: null, updatedAt: ledger.now };
  next.state = admit(next, ledger.now);
  ledger.amend(next, [{ kind: 'job.queued', by: 'scheduler', facts: { state: next.state } }]);
  await tx.setActivity(no, RUN_ACTIVE);
}

/** A schedule that was to run once goes when that is done and nothing below it is still under way. */
export async function sweepOneShots(tx: Tx, relatives: readonly Schedule[]): Promise<void> {
  for (const { id, spec, lastStatus, spawnedBy } of relatives) {
    // What a run asked for is done once, however it ends: those that failed would pile up.
    const over = spawnedBy === null ? lastStatus === 'ok' : lastStatus !== null;
    if (!spec.deleteAfterRun || !over) continue;
    const family = await tx.subtreeOf(id);
    if (!(await tx.anyOpenRun(family))) await tx.deleteSchedules(family);
  }
}
