/** What schedules' jobs have beside their rows, brought to where the rows ended up. */

import { isFinal, type Job, rootOf, SETTLED, UNSETTLED } from '../domain/job.ts';
import { type Run, RUN_ACTIVE, RUN_ENDED, RUN_WAITING, type RunActivity } from '../domain/run.ts';
import { overlapQueue } from '../domain/schedule.ts';
import type { Store, Tx } from '../store/store.ts';
import { count } from './counts.ts';

const BATCH = 500;
/** How far back to look for the last claim of a run that went back to the queue. */
const LAST_EVENTS = 200;

/** `settled` are the runs of which the journal says so. */
export async function finishRuns(
  store: Store,
  runs: ReadonlySet<number>,
  settled: ReadonlySet<number>,
): Promise<void> {
  const lines = new Set<string>();
  const all = [...runs];
  for (let i = 0; i < all.length; i += BATCH) {
    const some = await loadRuns(store, all.slice(i, i + BATCH));
    for (const id of await finishSome(store, some, settled)) lines.add(id);
  }
  for (const id of lines) await store.transaction(0, (tx) => moveLine(tx, id));
}

interface Loaded {
  readonly job: Job;
  readonly run: Run;
  /** When somebody began it, of those that nobody has ended. */
  readonly begunAt: number | null;
  /** Its end has started a child. */
  readonly startedChild: boolean;
}

async function loadRuns({ read }: Store, nos: readonly number[]): Promise<Loaded[]> {
  const runs = new Map((await read.runs.byNo(nos)).map((run) => [run.jobNo, run]));
  const starters = new Set(await read.runs.chainStarters(nos));
  const loaded: Loaded[] = [];
  for (const job of await read.jobs.byNo(nos)) {
    const run = runs.get(job.no);
    if (run === undefined) continue;
    loaded.push({ job, run, begunAt: await begunAt(read, job), startedChild: starters.has(job.no) });
  }
  return loaded;
}

/** Whoever held it may have sent it, even if it went back to the queue afterwards: then it may go on elsewhere. */
async function begunAt(read: Store['read'], job: Job): Promise<number | null> {
  if (isFinal(job.state) || job.fence === 0) return null;
  if (job.state === 'running') return job.updatedAt;
  const events = await read.feed.ofJob(job.no, Math.max(0, job.seq - LAST_EVENTS), LAST_EVENTS);
  return events.findLast(({ kind }) => kind === 'job.claimed')?.at ?? job.updatedAt;
}

/** Answers the schedules that have runs in line. */
async function finishSome(
  store: Store,
  loaded: readonly Loaded[],
  settled: ReadonlySet<number>,
): Promise<string[]> {
  return store.transaction(0, async (tx) => {
    const lines: string[] = [];
    for (const one of loaded) {
      const job = await settleAgain(tx, one, settled);
      const { run } = one;
      const active = activityOf(job);
      if (active !== RUN_ENDED) await tx.runs.setActivity(job.no, active);
      if (active === RUN_WAITING) lines.push(run.scheduleId);
      await noteBegun(tx, one);
      await takeTick(tx, one);
    }
    return lines;
  });
}

/** A run that the journal calls unsettled may have settled: then what it started is there, and must not start again. */
async function settleAgain(
  tx: Tx,
  { job, startedChild }: Loaded,
  settled: ReadonlySet<number>,
): Promise<Job> {
  if (!isFinal(job.state) || job.settled !== UNSETTLED) return job;
  const ended = startedChild || settled.has(job.no);
  const wasRetried = job.retryAt !== null && ((await tx.jobs.lastOfLineage(rootOf(job)))?.no ?? 0) > job.no;
  if (!ended && !wasRetried) return job;
  const after: Job = { ...job, settled: SETTLED, retryAt: wasRetried ? job.retryAt : null };
  await tx.jobs.update([{ before: job, after, kind: 'other' }]);
  return after;
}

function activityOf(job: Job): RunActivity {
  if (isFinal(job.state)) return job.settled === SETTLED ? RUN_ENDED : RUN_ACTIVE;
  return waitsInLine(job) ? RUN_WAITING : RUN_ACTIVE;
}

function waitsInLine({ state, blockedOn, scheduleId }: Job): boolean {
  return state === 'blocked' && scheduleId !== null && blockedOn === overlapQueue(scheduleId);
}

/** So that whoever claims it next looks for it first, and never sends it blindly a second time. */
async function noteBegun(tx: Tx, { job, run, begunAt }: Loaded): Promise<void> {
  if (begunAt === null) return;
  const sessionKey = `scheduler:${run.scheduleId}:${job.id}`;
  await tx.runs.note(job.no, { dispatchedAt: begunAt, sessionKey, transport: 'chat' });
}

/** A tick that fired does not fire again, even if the clock is put back. */
async function takeTick(tx: Tx, { job, run: { kind, scheduleId, dueAt } }: Loaded): Promise<void> {
  if (dueAt === null || (kind !== 'cron' && kind !== 'catch_up')) return;
  if (await tx.ticks.take(scheduleId, dueAt, job.createdAt))
    await tx.ticks.nameJob(scheduleId, dueAt, job.no);
}

/** Nobody would ever call the first of a line in which nothing is under way, so it passes through its time. */
async function moveLine(tx: Tx, scheduleId: string): Promise<void> {
  const { active } = await tx.runs.overlap(scheduleId);
  const no = active > 0 ? null : await tx.runs.firstWaiting(scheduleId);
  const [before] = no === null ? [] : await tx.jobs.lockByNo([no]);
  if (before === undefined) return;
  await tx.jobs.update([
    { before, after: { ...before, state: 'scheduled', blockedOn: null }, kind: 'other' },
  ]);
  await tx.runs.setActivity(before.no, RUN_ACTIVE);
  await count(tx, [
    { target: before.target, state: before.state, by: -1 },
    { target: before.target, state: 'scheduled', by: 1 },
  ]);
}

/** A job that awaits approval has been asked for; one that ended meanwhile needs no answer any more. */
export async function finishApprovals(store: Store, withApproval: ReadonlySet<number>): Promise<void> {
  const all = [...withApproval];
  for (let i = 0; i < all.length; i += BATCH)
    await store.transaction(0, async (tx) => {
      for (const job of await tx.jobs.lockByNo(all.slice(i, i + BATCH))) await finishApproval(tx, job);
    });
}

async function finishApproval(tx: Tx, job: Job): Promise<void> {
  const approval = await tx.approvals.lock(job.no);
  if (approval === null) return;
  const isAsked = approval.status === 'pending' && approval.requestedAt !== null;
  if (job.state === 'awaiting_approval' && !isAsked) await tx.approvals.request(job.no, job.updatedAt);
  if (!isFinal(job.state) || approval.status !== 'pending') return;
  await tx.approvals.resolve(job.no, {
    status: 'rejected',
    resolvedAt: job.finishedAt,
    resolvedBy: 'operator',
    notes: job.reason ?? 'the job ended before anybody decided',
  });
}
