/** What a person does to schedules: switch, cancel, delete, run now, say yes or no. */

import type { Run, Schedule, SpineClient } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { CliError, EXIT } from '../failure.ts';
import type { Session } from '../session.ts';
import { styled } from '../text/line.ts';
import { runHasEnded } from '../text/run-statuses.ts';
import { duration } from '../text/times.ts';
import { decided } from './approvals.ts';
import { confirm } from './confirm.ts';
import { endedRun, scheduleLine } from './schedule-lines.ts';
import { findSchedule, scheduleId } from './schedule-ref.ts';
import { previewEnd } from './schedules-dry-run.ts';
import { given } from './values.ts';

export const enableSchedules: Handler = (session, { args }) =>
  each(session, args, 'enabled', (client, id) => client.schedules.enable(id));

export const disableSchedules: Handler = (session, { args }) =>
  each(session, args, 'disabled', (client, id) => client.schedules.disable(id));

/** One is answered as itself, several one after another; the first refusal ends it. */
async function each(
  session: Session,
  names: readonly string[],
  did: string,
  act: (client: SpineClient, id: string) => Promise<Schedule>,
): Promise<void> {
  const client = await session.client();
  for (const name of names) {
    const schedule = await act(client, await scheduleId(client, name, session.words));
    const line = (): ReturnType<typeof scheduleLine>[] => [scheduleLine(schedule, did, session.now())];
    if (names.length === 1 || !session.out.json)
      session.out.result({ value: schedule, lines: line, ids: () => [schedule.id] });
    else session.out.record(schedule, line);
  }
}

interface CancelOptions {
  readonly cascade: boolean;
  readonly dryRun?: boolean;
}

export const cancelSchedule: Handler<CancelOptions> = async (session, { args: [name = ''], options }) => {
  const client = await session.client();
  const found = await findSchedule(client, name, session.words);
  if (options.dryRun) return previewEnd(session, client, found, 'cancelled', options.cascade);
  const { id } = found;
  const cancelled = await client.schedules.cancel(id, { cascade: options.cascade });
  const { cancelled_schedules: schedules, cancelled_runs: runs } = cancelled;
  session.out.result({
    value: cancelled,
    lines: () => [
      [
        styled('bold', cancelled.name),
        ` cancelled: ${counted(schedules.length, session.words.schedule)} disabled, ${counted(runs.length, 'run')} ended `,
        styled('dim', `(${id})`),
      ],
    ],
    ids: () => schedules,
  });
};

interface DeleteOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

export const deleteSchedule: Handler<DeleteOptions> = async (session, { args: [name = ''], options }) => {
  const client = await session.client();
  const schedule = await findSchedule(client, name, session.words);
  if (options.dryRun) return previewEnd(session, client, schedule, 'deleted', true);
  await confirm(
    session,
    `Delete the ${session.words.schedule} ${schedule.name} and everything below it?`,
    options.yes,
  );
  const deleted = await client.schedules.remove(schedule.id);
  const { deleted_schedules: schedules, cancelled_runs: runs } = deleted;
  session.out.result({
    value: deleted,
    lines: () => [
      [
        styled('bold', schedule.name),
        ` deleted: ${counted(schedules.length, session.words.schedule)}, ${counted(runs.length, 'run')} ended `,
        styled('dim', `(${schedule.id})`),
      ],
    ],
    ids: () => schedules,
  });
};

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

interface RunOptions {
  readonly wait?: boolean;
  readonly timeout?: number;
}

export const runSchedule: Handler<RunOptions> = async (session, { args: [name = ''], options }) => {
  const client = await session.client();
  const { id, name: called } = await findSchedule(client, name, session.words);
  const started = await client.schedules.run(id);
  if (options.wait) return await waitForRun(session, client, started.run_id, options.timeout ?? null);
  const reason = started.reason === null ? '' : `: ${started.reason}`;
  session.out.result({
    value: started,
    lines: () => [
      [styled('bold', called), ` run made (${started.status}${reason}) `, styled('dim', started.run_id)],
    ],
    ids: () => [started.run_id],
  });
};

/** Short runs are noticed at once, long ones cost little. */
const FIRST_LOOK_MS = 50;
const LONGEST_LOOK_MS = 1_000;
const PATIENT = { retries: 8 };

async function waitForRun(
  session: Session,
  client: SpineClient,
  id: string,
  limitMs: number | null,
): Promise<void> {
  const until = limitMs === null ? Infinity : session.now() + limitMs;
  let run = await client.runs.get(id);
  for (let waitMs = FIRST_LOOK_MS; !runHasEnded(run); waitMs = Math.min(waitMs * 1.5, LONGEST_LOOK_MS)) {
    const leftMs = until - session.now();
    if (leftMs <= 0) throw tooLong(run, limitMs ?? 0);
    await session.sleep(Math.min(waitMs, leftMs));
    run = await client.runs.get(id, { ...PATIENT, signal: session.signal });
  }
  session.out.result({ value: run, lines: () => endedRun(run), ids: () => [run.id] });
  if (run.status !== 'ok')
    throw new CliError(EXIT.jobFailed, 'job_failed', `Run ${run.id} ended with ${run.status}.`);
}

function tooLong(run: Run, limitMs: number): CliError {
  return new CliError(
    EXIT.timeout,
    'timeout',
    `Run ${run.id} is still ${run.status} after ${duration(limitMs)}.`,
  );
}

interface VerdictOptions {
  readonly reason?: string;
}

export const approveSchedule: Handler<VerdictOptions> = async (session, { args: [name = ''], options }) => {
  const client = await session.client();
  const verdict = { ...given({ reason: options.reason }), by: 'operator' } as const;
  decided(session, await client.schedules.approve(await scheduleId(client, name, session.words), verdict));
};

export const rejectSchedule: Handler<VerdictOptions> = async (session, { args: [name = ''], options }) => {
  const client = await session.client();
  const verdict = { ...given({ reason: options.reason }), by: 'operator' } as const;
  decided(session, await client.schedules.reject(await scheduleId(client, name, session.words), verdict));
};
