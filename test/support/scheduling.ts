import type { ClaimedJob } from '../../src/domain/command.ts';
import type { FailureCause, Job } from '../../src/domain/job.ts';
import type { RunRecord } from '../../src/domain/run.ts';
import type { Schedule } from '../../src/domain/schedule.ts';
import { type RunStatus, runStatusOf } from '../../src/domain/statuses.ts';
import { approver } from '../../src/loops/approver.ts';
import { scheduler } from '../../src/loops/scheduler.ts';
import { settler } from '../../src/loops/settler.ts';
import { spawner } from '../../src/loops/spawner.ts';
import { timers } from '../../src/loops/timers.ts';
import { claimNext, HEAD, type Opened, worker } from './engines.ts';

type Spine = Pick<Opened, 'engine'>;
type Timed = Pick<Opened, 'engine' | 'clock'>;

/** Runs every duty of the scheduler until none of them finds anything to do at this moment. */
export async function pump({ engine }: Spine): Promise<void> {
  const { core } = engine;
  const duties = [
    scheduler(core, 10_000),
    timers(core, () => 0),
    settler(core),
    approver(core, 10_000),
    spawner(core, 10_000),
  ];
  for (let pass = 0; pass < 500; pass++) {
    let done = 0;
    for (const duty of duties) done += (await duty.runOnce()).done;
    if (done === 0) return;
  }
  throw new Error('the scheduler never comes to rest');
}

/** Moves time on in steps, and lets the scheduler work at each of them. */
export async function pass(spine: Timed, ms: number, stepMs = ms): Promise<void> {
  for (let gone = 0; gone < ms; gone += stepMs) {
    await spine.clock.advance(Math.min(stepMs, ms - gone));
    await pump(spine);
  }
}

/** Puts the clock to a moment, before anything was made: the engine is not asked, because from then on its time never goes back. */
export async function startAt({ clock, engine }: Timed, iso: string): Promise<void> {
  await clock.advance(Date.parse(iso) - clock.now() - engine.core.store.clockOffsetMs());
}

/** A schedule whose runs any worker may claim, with everything left to its default but what the test is about. */
export function plan(spine: Spine, draft: Record<string, unknown> = {}): Promise<Schedule> {
  const trigger = 'parent_id' in draft ? { trigger_on: 'success' } : { schedule_kind: 'manual' };
  const timed = ['schedule', 'every', 'at', 'in'].some((key) => key in draft);
  return spine.engine.schedules.create(HEAD, {
    name: 'nightly',
    session_target: 'queue',
    ...(timed ? {} : trigger),
    ...draft,
  });
}

export async function schedule(spine: Spine, { id }: Pick<Schedule, 'id'>): Promise<Schedule> {
  return spine.engine.schedules.get(HEAD, id);
}

/** Runs by hand, and lets the scheduler do what follows. */
export async function runNow(spine: Spine, { id }: Pick<Schedule, 'id'>): Promise<Job> {
  const job = await spine.engine.schedules.run(HEAD, id);
  await pump(spine);
  return job;
}

/** Oldest first. */
export async function runsOf(spine: Spine, { id }: Pick<Schedule, 'id'>): Promise<RunRecord[]> {
  return (await spine.engine.runs.list({ scheduleId: id, limit: 1_000 })).toReversed();
}

export async function statuses(spine: Spine, of: Pick<Schedule, 'id'>): Promise<RunStatus[]> {
  return (await runsOf(spine, of)).map(({ job }) => runStatusOf(job));
}

export async function take(spine: Spine, targets: readonly string[] = ['any']): Promise<ClaimedJob | null> {
  return (await claimNext(spine, { targets }))[0] ?? null;
}

/** Claims the next run and ends it well; answers which it was. */
export async function doNext(spine: Spine, result: unknown = 'done'): Promise<Job | null> {
  const claimed = await take(spine);
  if (claimed === null) return null;
  const { job } = await spine.engine.leases.complete(
    worker('w'),
    claimed.job.id,
    claimed.job.leaseToken,
    result,
  );
  await pump(spine);
  return job;
}

/** Claims the next run and fails it. */
export async function failNext(
  spine: Spine,
  error: unknown = 'broken',
  cause: FailureCause | null = null,
): Promise<Job | null> {
  const claimed = await take(spine);
  if (claimed === null) return null;
  const { id, leaseToken } = claimed.job;
  const { job } = await spine.engine.leases.fail(worker('w'), id, leaseToken, error, true, { cause });
  await pump(spine);
  return job;
}
