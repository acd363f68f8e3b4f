/** Reacts to jobs that ended: the lineage goes on with a retry, or those who waited for the end move. */

import { loopActor } from '../domain/actor.ts';
import { admit, ADMITTED, dependencyMet } from '../domain/admit.ts';
import { isToldWhenSettled } from '../domain/chat-text.ts';
import { CONSULTING, type Job, rootOf, SETTLED, UNSETTLED } from '../domain/job.ts';
import { SpineError } from '../domain/error.ts';
import { LIMITS } from '../domain/limits.ts';
import { finish } from '../domain/retry.ts';
import type { DeliveryGuarantee, RunPlan, Schedule } from '../domain/schedule.ts';
import type { Tx } from '../store/store.ts';
import { afterRun, sweepOneShots } from './after-run.ts';
import type { Subscribers } from './announcing.ts';
import { countFailure } from './breaker.ts';
import { consult, NO_RETRY, outlookOf } from './consulting.ts';
import { continueLineage, sayWhySkipped } from './retrying.ts';
import type { Core } from './core.ts';
import { routingChanged } from './routing.ts';
import type { ChangeSet } from './change-set.ts';

const SETTLER = loopActor('settler');

/** Runs of schedules that are settled together: one commit for all of them. */
const RUNS_AT_ONCE = 50;

/** Settles jobs that ended. Two servers may try: the second finds them settled. */
export async function settle(core: Core, nos: readonly number[]): Promise<void> {
  const ended = await core.store.read.jobs.byNo(nos);
  await core.types();
  const runs = ended.filter((job) => job.scheduleId !== null);
  // The others may have dependents, whose rows two servers would lock in different orders: one at a time.
  const groups = ended.filter((job) => job.scheduleId === null).map((job) => [job]);
  for (let i = 0; i < runs.length; i += RUNS_AT_ONCE) groups.push(runs.slice(i, i + RUNS_AT_ONCE));
  // As many at once as can commit at once: more would only stand before everybody else in line.
  const { lanes } = core.store;
  const problems: Error[] = [];
  for (let i = 0; i < groups.length; i += lanes) {
    const slice = groups.slice(i, i + lanes);
    problems.push(...(await Promise.all(slice.map((group) => settleGroup(core, group)))).flat());
  }
  // It is told once all others have moved: one that fails every time would hold up whatever ended after it.
  if (problems[0] !== undefined) throw problems[0];
}

/**
 * After an error each gets a transaction to itself, so that only the guilty one stays behind. Answers what went wrong with
 * these very jobs; a database that is away is thrown at once.
 */
async function settleGroup(core: Core, group: readonly Job[]): Promise<readonly Error[]> {
  try {
    await settleTogether(core, group);
    return [];
  } catch (error) {
    if (error instanceof SpineError || !(error instanceof Error)) throw error;
    if (group.length === 1) return [error];
  }
  const problems: Error[] = [];
  for (const job of group) problems.push(...(await settleGroup(core, [job])));
  return problems;
}

async function settleTogether(core: Core, group: readonly Job[]): Promise<void> {
  const scheduleIds = [...new Set(group.flatMap(({ scheduleId }) => scheduleId ?? []))];
  const subscribers = await core.subscribers();
  const opened = await core.flusher.transact(SETTLER, async (tx, changeSet) => {
    // Schedules are locked before their jobs, here and everywhere.
    const relatives =
      scheduleIds.length === 0 ? [] : await tx.schedules.lock(await tx.chains.relatives(scheduleIds));
    const unsettled = (await tx.jobs.lockByNo(group.map(({ no }) => no))).filter(isUnsettled);
    for (const found of unsettled)
      await settleOne(core, tx, changeSet, changeSet.load(found), { relatives, subscribers });
    if (relatives.length > 0) await sweepOneShots(tx, relatives);
    return countFailures(core, tx, changeSet, unsettled, subscribers);
  });
  if (opened) routingChanged(core, true);
  if (core.advice !== null) core.hints.consulting();
}

/** Each at its first settling, in the order of their types: two servers never wait for each other. */
async function countFailures(
  core: Core,
  tx: Tx,
  changeSet: ChangeSet,
  jobs: readonly Job[],
  to: Subscribers,
): Promise<boolean> {
  const failed = jobs.filter(({ settled }) => settled === UNSETTLED);
  let opened = false;
  for (const job of failed.toSorted((a, b) => a.typeNo - b.typeNo || a.no - b.no))
    opened = (await countFailure(core, tx, changeSet, job, to)) || opened;
  return opened;
}

/** What a job's end may concern. */
interface Around {
  readonly relatives: readonly Schedule[];
  readonly subscribers: Subscribers;
}

function isUnsettled({ settled }: Job): boolean {
  return settled === UNSETTLED || settled === CONSULTING;
}

async function settleOne(core: Core, tx: Tx, changeSet: ChangeSet, job: Job, around: Around): Promise<void> {
  const mayRetry = job.retryAt !== null && (job.cause !== 'crashed' || (await isReplayed(tx, job)));
  const outlook = mayRetry ? await outlookOf(core, tx, job, changeSet.now) : NO_RETRY;
  if (outlook.kind === 'stay') return;
  if (outlook.kind === 'wait') {
    await consult(core, tx, job, outlook, changeSet.now);
    changeSet.amend({ ...job, settled: CONSULTING });
    return;
  }
  if (job.settled === CONSULTING) await tx.consultations.end(job.no);
  const { announcer } = changeSet;
  const isUntold = isToldWhenSettled(job);
  if (outlook.kind === 'retry') {
    if (isUntold) await announcer.failedInChat(tx, job, null, around.subscribers);
    return continueLineage(core, tx, changeSet, job, outlook, around.subscribers);
  }
  changeSet.amend({ ...job, settled: SETTLED, retryAt: null });
  const why = outlook.kind === 'skip' ? sayWhySkipped(changeSet, job, outlook) : null;
  if (isUntold) await announcer.failedInChat(tx, { ...job, retryAt: null }, why, around.subscribers);
  await end(core, tx, changeSet, job, around.relatives);
}

async function end(
  core: Core,
  tx: Tx,
  changeSet: ChangeSet,
  job: Job,
  relatives: readonly Schedule[],
): Promise<void> {
  await release(tx, changeSet, job);
  if (job.scheduleId !== null) await afterRun(core, tx, changeSet, job, relatives);
}

/** At most once means never again; and work that brings its server down every time must not do so for ever. */
async function isReplayed(tx: Tx, job: Job): Promise<boolean> {
  if (job.scheduleId !== null && (await guaranteeOf(tx, job)) !== 'at-least-once') return false;
  return (await tx.jobs.lineageSize(rootOf(job))) - job.retryCount <= LIMITS.replays;
}

/** As its schedule was when the run was made. */
async function guaranteeOf(tx: Tx, job: Job): Promise<DeliveryGuarantee> {
  const { meta } = await tx.jobs.inputOf(job.no);
  // Only the scheduler gives a job a schedule, and with it this meta; one that a rebuild found may have lost it.
  const plan = JSON.parse(meta ?? 'null') as Partial<RunPlan> | null;
  return plan?.schedule?.deliveryGuarantee ?? 'at-most-once';
}

/** Dependents whose last dependency this was are admitted; those who hoped for another end are skipped. */
async function release(tx: Tx, changeSet: ChangeSet, ended: Job): Promise<void> {
  const root = rootOf(ended);
  const dependents = await tx.dependencies.waiting(root);
  if (dependents.length === 0) return;
  const wanted = new Map(dependents.map(({ jobNo, on }) => [jobNo, on]));
  for (const found of await tx.jobs.lockByNo([...wanted.keys()])) {
    const job = changeSet.load(found);
    const next: Job = { ...job, waitingFor: Math.max(0, job.waitingFor - 1), updatedAt: changeSet.now };
    if (job.state !== 'blocked') {
      // It ended meanwhile; if somebody reopens it, this dependency is no longer waited for.
      changeSet.amend({ ...next, updatedAt: job.updatedAt });
      continue;
    }
    if (!dependencyMet(wanted.get(job.no) ?? 'complete', ended.state)) {
      next.reason = 'a dependency ended otherwise';
      finish(next, 'skipped', changeSet.now);
      changeSet.amend(next, [
        { kind: 'job.skipped', by: SETTLER.name, facts: { dependency: ended.id, ended: ended.state } },
      ]);
      continue;
    }
    const state = admit(next, changeSet.now);
    next.state = state;
    changeSet.amend(
      next,
      state === 'blocked'
        ? []
        : [{ kind: ADMITTED[state], by: SETTLER.name, facts: { dependency: ended.id, state } }],
    );
  }
  await tx.dependencies.settle(root);
}
