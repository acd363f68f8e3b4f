/** What the end of a run means for its schedule: backoff, children, the next in line, one-shots that are done. */

import { admit, ADMITTED, dependencyMet } from '../domain/admit.ts';
import { conditionMet } from '../domain/condition.ts';
import type { Job } from '../domain/job.ts';
import { LIMITS } from '../domain/limits.ts';
import { rawOutput } from '../domain/output.ts';
import { RUN_ACTIVE, RUN_ENDED } from '../domain/run.ts';
import type { Schedule, TriggerContext } from '../domain/schedule.ts';
import { isUsedUp } from '../domain/schedule-clock.ts';
import { type RunStatus, runStatusOf } from '../domain/statuses.ts';
import type { Tx } from '../store/store.ts';
import type { Core } from './core.ts';
import { fire } from './firing.ts';
import { endHold, holdBack } from './schedule-backoff.ts';
import type { ChangeSet } from './change-set.ts';

const BAD: readonly RunStatus[] = ['error', 'timeout', 'crashed'];

/** `relatives` are locked: the run's schedule, those above it, and its children. */
export async function afterRun(
  core: Core,
  tx: Tx,
  changeSet: ChangeSet,
  job: Job,
  relatives: readonly Schedule[],
): Promise<void> {
  await tx.runs.setActivity(job.no, RUN_ENDED);
  const schedule = relatives.find(({ id }) => id === job.scheduleId);
  if (schedule === undefined) return;
  const status = runStatusOf(job);
  await judge(tx, changeSet, schedule, status);
  await changeSet.announcer.runEnded(tx, job, schedule.spec, (now) => core.ids.jobId(now));
  const children = relatives.filter(({ spec }) => spec.parentId === schedule.id);
  // Whoever cancelled a run did not want what follows it either.
  const fired =
    status === 'cancelled' ? [] : await fireChildren(core, tx, changeSet, job, schedule, children);
  await letNextGo(tx, changeSet, schedule);
  await tx.schedules.save([schedule, ...fired]);
}

async function judge(tx: Tx, changeSet: ChangeSet, schedule: Schedule, status: RunStatus): Promise<void> {
  schedule.lastStatus = status;
  schedule.updatedAt = changeSet.now;
  if (status === 'ok' && schedule.consecutiveErrors > 0) {
    schedule.consecutiveErrors = 0;
    await endHold(tx, changeSet.now, schedule);
  }
  if (!BAD.includes(status)) return;
  schedule.consecutiveErrors += 1;
  await holdBack(tx, changeSet.now, schedule);
}

async function fireChildren(
  core: Core,
  tx: Tx,
  changeSet: ChangeSet,
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
    // A run that was opened again ends a second time; its children were fired the first time.
    if (await tx.runs.hasTriggered(job.no, child.id)) continue;
    const trigger = {
      job,
      context: { ...context, output: context.output.slice(0, LIMITS.triggerOutputChars) },
    };
    const delayMs = child.spec.triggerDelayS * 1_000;
    await fire(core, tx, changeSet, child, { kind: 'chain', dueAt: null, delayMs, trigger });
    if (isUsedUp(child)) child.enabled = false;
  }
  return met;
}

async function contextOf(tx: Tx, job: Job, parent: Schedule): Promise<TriggerContext> {
  const outcome = (await tx.details.outcomes([job.no])).get(job.no);
  const { text, exitCode, stderr } = rawOutput(outcome?.result ?? null, outcome?.error ?? null);
  return {
    runId: job.id,
    scheduleId: parent.id,
    scheduleName: parent.spec.name,
    ...(parent.spawnedBy !== null && { isSpawned: true }),
    status: runStatusOf(job),
    output: text,
    exitCode,
    stderr: stderr?.slice(0, LIMITS.triggerOutputChars) ?? null,
  };
}

/** One run that waited in line takes the place of the one that ended. */
async function letNextGo(
  tx: Tx,
  changeSet: ChangeSet,
  schedule: Pick<Schedule, 'id' | 'spec'>,
): Promise<void> {
  const { active } = await tx.runs.overlap(schedule.id);
  if (active > 0 && schedule.spec.overlapPolicy !== 'allow') return;
  const no = await tx.runs.firstWaiting(schedule.id);
  if (no === null) return;
  const [found] = await tx.jobs.lockByNo([no]);
  const job = found && changeSet.load(found);
  if (job?.state !== 'blocked') return;
  const state = admit(job, changeSet.now);
  const next: Job = { ...job, state, blockedOn: null, updatedAt: changeSet.now };
  changeSet.amend(next, [{ kind: ADMITTED[state], by: 'scheduler', facts: { state } }]);
  await tx.runs.setActivity(no, RUN_ACTIVE);
}

/** A schedule that was to run once goes when that is done and nothing below it is still under way. */
export async function sweepOneShots(tx: Tx, relatives: readonly Schedule[]): Promise<void> {
  for (const { id, spec, lastStatus, spawnedBy } of relatives) {
    // What a run asked for is done once, however it ends: those that failed would pile up.
    const over = spawnedBy === null ? lastStatus === 'ok' : lastStatus !== null;
    if (!spec.deleteAfterRun || !over) continue;
    const family = await tx.chains.subtree(id);
    if (!(await tx.runs.anyOpen(family))) await tx.schedules.remove(family);
  }
}
