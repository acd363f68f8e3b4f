import { readFileSync } from 'node:fs';
import type { ToldMessage } from '../../src/prompt/messages.ts';
import type { JobContext } from '../../src/client/index.ts';
import { AskAndWait, JobInterrupted, type Interruption } from '../../src/client/index.ts';
import type { ClaimedJob, Platform } from '../../src/client/index.ts';
import { completeSchedule } from '../../src/domain/schedule-draft.ts';
import type { RunPlan, ScheduleSpec, TriggerContext } from '../../src/domain/schedule.ts';
import type { ToldRun } from '../../src/prompt/prior-runs.ts';
import type { BeginNote, Begun, RunNotes } from '../../src/worker/ports.ts';
import { type FakeClock, type TestClock, until } from '../support/clock.ts';
import { claimedJob } from '../client/support.ts';

export const SCHEDULE_ID = '11111111-1111-4111-8111-111111111111';

/** The plan of a schedule with everything left to its default but what the test is about. */
export function planOf(
  draft: Readonly<Record<string, unknown>> = {},
  rest: Partial<Omit<RunPlan, 'schedule'>> = {},
): RunPlan {
  const facts = { now: 0, shellAllowed: true, gateways: ['main'] };
  const asked = { name: 'nightly', schedule: '0 2 * * *', payload_message: 'Do it.', ...draft };
  const completed = completeSchedule(asked, null, facts);
  if (!completed.ok) throw new Error(completed.problem);
  const { payloadMessage: _, params: __, ...spec }: ScheduleSpec = completed.spec;
  return { schedule: { ...spec, id: SCHEDULE_ID }, run: 'cron', dueAt: 1_000, trigger: null, ...rest };
}

export function runJob(plan: RunPlan, fields: Partial<ClaimedJob> = {}): ClaimedJob {
  return claimedJob({
    id: 'run-1',
    target: 'gateway:main',
    scheduleId: SCHEDULE_ID,
    spec: 'Do it.',
    meta: plan,
    ...fields,
  });
}

export const PARENT: TriggerContext = {
  runId: 'run-0',
  scheduleId: 'schedule-0',
  scheduleName: 'collect',
  status: 'ok',
  output: 'XYZ',
  exitCode: null,
  stderr: null,
};

/** Notes in memory, in the order in which they were written. */
export class MemoryNotes implements RunNotes {
  readonly written: string[] = [];
  note: BeginNote | null = null;
  earlier: Begun | null = null;
  first: string | null = null;
  prior: readonly ToldRun[] = [];
  readonly askedAbout: string[] = [];

  async begun(): Promise<Begun | null> {
    return this.earlier;
  }

  now(): number {
    return 7_000;
  }

  async begin(_: ClaimedJob, note: BeginNote): Promise<void> {
    this.written.push('begin');
    this.note = note;
  }

  async priorRuns(_: ClaimedJob, __: RunPlan, message: string): Promise<readonly ToldRun[]> {
    this.askedAbout.push(message);
    return this.prior;
  }

  async takeBack(): Promise<void> {
    this.written.push('takeBack');
    this.note = null;
  }

  async heartbeat(): Promise<void> {
    this.written.push('heartbeat');
  }

  messages: readonly ToldMessage[] = [];

  async mail(): Promise<readonly ToldMessage[]> {
    return this.messages;
  }

  async mailArrived(): Promise<void> {
    this.written.push('mailArrived');
  }

  async firstOf(job: ClaimedJob): Promise<string> {
    return this.first ?? job.id;
  }

  async access({ id }: ClaimedJob) {
    return { url: 'http://127.0.0.1:1', runId: id, token: 'turn.token' };
  }
}

export class MemoryLog {
  readonly lines: string[] = [];
  readonly info = (message: string): void => void this.lines.push(message);
  readonly warn = (message: string): void => void this.lines.push(message);
  readonly error = (message: string): void => void this.lines.push(message);
}

export function platformOf(clock: FakeClock): Platform {
  let ids = 0;
  return {
    nowMs: () => clock.now(),
    after: (delayMs, task) => clock.after(delayMs, task),
    random: () => 0.5,
    randomId: () => `id${++ids}`,
  };
}

/** The handler's side of a lease, interrupted by hand. */
export function heldLease() {
  const controller = new AbortController();
  const context: JobContext = {
    signal: controller.signal,
    progress: () => undefined,
    log: () => undefined,
    onMessage: () => undefined,
    started: () => undefined,
    answers: [],
    ask: (question) => Promise.reject(new AskAndWait(question)),
    checkpoint: async () => undefined,
    lastCheckpoint: null,
    inputs: {},
    upload: () => Promise.reject(new Error('There is nowhere to upload to.')),
    needTime: async () => undefined,
    endedItself: () => new AbortController().signal,
  };
  return { context, interrupt: (why: Interruption) => controller.abort(new JobInterrupted(why)) };
}

/** Lets time pass until the promise is settled. */
export async function passing<T>({ clock }: { readonly clock: TestClock }, promise: Promise<T>): Promise<T> {
  let settled = false;
  const end = promise.finally(() => (settled = true));
  end.catch(() => undefined);
  await until('it is settled', async () => {
    if (!settled) await clock.advance(100);
    return settled;
  });
  return await end;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that nobody has collected yet is dead, too.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
