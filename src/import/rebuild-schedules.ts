/** Schedules as the files tell them; what follows from the clock and from their runs is found out again. */

import { isFinal, SETTLED } from '../domain/job.ts';
import { COUNTED_KINDS, type PastRun } from '../domain/run.ts';
import { holdBackMs, type Schedule } from '../domain/schedule.ts';
import { clockOf, isUsedUp, nextTick } from '../domain/schedule-clock.ts';
import { type RunStatus, runStatusOf } from '../domain/statuses.ts';
import type { ScheduleFacts } from '../files/journal-line.ts';
import type { Store } from '../store/store.ts';

const BATCH = 200;
/** Enough to know how it stands; the waiting after failures stops growing long before. */
const LAST_RUNS = 100;
const BAD: readonly RunStatus[] = ['error', 'timeout', 'crashed'];

/** After the runs: their ends must be in the database. Answers how many there are. */
export async function putSchedules(
  store: Store,
  told: readonly ScheduleFacts[],
  now: number,
): Promise<number> {
  // A number is used again only when whoever had it is gone: the one that was told of last has it.
  const all = [...new Map(told.map((facts) => [facts.no, facts])).values()];
  for (let i = 0; i < all.length; i += BATCH) {
    const schedules: Schedule[] = [];
    for (const facts of all.slice(i, i + BATCH))
      schedules.push(restored(facts, await store.read.runs.history(facts.id, LAST_RUNS), now));
    await store.transaction(0, async (tx) => tx.schedules.insertRaw(schedules));
  }
  return all.length;
}

function restored(facts: ScheduleFacts, runs: readonly PastRun[], now: number): Schedule {
  const { no, id, spec, createdAt, createdBy, spawnedBy } = facts;
  const ends = endsOf(runs);
  const lastOk = ends.findIndex(({ status }) => status === 'ok');
  const sinceOk = lastOk < 0 ? ends : ends.slice(0, lastOk);
  const consecutiveErrors = sinceOk.filter(({ status }) => BAD.includes(status)).length;
  const endedAt = ends[0]?.at ?? createdAt;
  const counted = runs.filter(({ kind }) => COUNTED_KINDS.includes(kind)).length;
  const runCount = Math.max(facts.runCount ?? 0, counted);
  const isDone = facts.spawnedBy === null ? lastOk >= 0 : ends.length > 0;
  const enabled = facts.enabled && !isOver(facts, runs, isDone) && !isUsedUp({ spec, runCount });
  return {
    no,
    id,
    spec,
    createdAt,
    createdBy,
    spawnedBy,
    enabled,
    updatedAt: Math.max(createdAt, endedAt),
    nextRunAt: enabled ? nextRunAt(facts, now, endedAt + holdBackMs(consecutiveErrors)) : null,
    lastRunAt: runs.find(({ kind }) => kind !== 'retry' && kind !== 'replay')?.createdAt ?? null,
    lastStatus: ends[0]?.status ?? null,
    consecutiveErrors,
    runCount,
  };
}

/** The ends that counted for the schedule, newest first: a run whose retry came is not over with its own end. */
function endsOf(runs: readonly PastRun[]): { at: number; status: RunStatus }[] {
  return runs
    .filter(({ state, settled, retryAt }) => isFinal(state) && settled === SETTLED && retryAt === null)
    .map((run) => ({ at: run.finishedAt ?? 0, status: runStatusOf(run) }))
    .toSorted((a, b) => b.at - a.at);
}

/** A moment comes once, and what was to go after its run has had it; the files may not say so yet. */
function isOver({ spec }: ScheduleFacts, runs: readonly PastRun[], isDone: boolean): boolean {
  if (spec.deleteAfterRun && isDone) return true;
  const at = spec.scheduleKind === 'at' ? spec.scheduleAt : null;
  if (at === null) return false;
  return runs.some(
    ({ kind, dueAt }) => (kind === 'cron' || kind === 'catch_up') && dueAt !== null && dueAt >= at,
  );
}

/** Ticks that nobody was there for are not made up; a single moment that has passed is. */
function nextRunAt(facts: ScheduleFacts, now: number, heldBackUntil: number): number | null {
  const clock = clockOf(facts);
  if (clock === null) return null;
  const next = clock.rule.kind === 'at' ? clock.rule.at : nextTick(clock, now);
  return next === null || heldBackUntil <= now ? next : Math.max(next, heldBackUntil);
}
