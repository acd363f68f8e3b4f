/** The scheduler's words for what `spine schedules`, `runs` and `approvals` do, with the shapes that its programs know. */

import type { Run, Schedule, SpineClient } from '../../client/index.ts';
import { listApprovals } from '../commands/approvals.ts';
import { fact } from '../commands/job-lines.ts';
import { listRuns, staleRuns } from '../commands/runs.ts';
import { runsOfSchedule } from '../commands/schedules.ts';
import { rejectSchedule } from '../commands/schedules-steer.ts';
import { addSchedule, type FieldOptions, updateSchedule } from '../commands/schedules-add.ts';
import type { Handler } from '../command.ts';
import { type Line, styled } from '../text/line.ts';
import { relative } from '../text/times.ts';

type Shape = (value: unknown) => unknown;

/** `{ok, job}`: one schedule. */
export const asJob: Shape = (value) => ({ ok: true, job: value });
export const asMessage: Shape = (value) => ({ ok: true, message: value });
export const asAgent: Shape = (value) => ({ ok: true, agent: value });
/** What was done, and its facts. */
export const asDone: Shape = (value) => ({ ok: true, ...(value as object) });
/** A list without anything around it. */
export const asRows: Shape = (value) => Object.values(value as Record<string, unknown>).find(Array.isArray);

export function shaped<O>(handler: Handler<O>, shape: Shape): Handler<O> {
  return async (session, given) => {
    session.out.shape = shape;
    await handler(session, given);
  };
}

/** A dry run makes no job, and shows when it would run instead. */
export const addJob: Handler<FieldOptions> = (session, given) =>
  shaped(addSchedule, given.options.dryRun ? asDone : asJob)(session, given);

export const updateJob: Handler<FieldOptions> = (session, given) =>
  shaped(updateSchedule, given.options.dryRun ? asDone : asJob)(session, given);

const PAGE = 1_000;
const USUAL = 20;

/** How much there is, what runs, what is stuck, and what comes next. */
export const status: Handler = async (session) => {
  const client = await session.client();
  const jobs: Schedule[] = [];
  for await (const each of client.schedules.list({ limit: PAGE })) jobs.push(each);
  const [running, stale, agents] = await Promise.all([
    client.runs.list({ status: 'running', limit: PAGE }),
    client.runs.stale({ limit: PAGE }),
    agentsOf(client),
  ]);
  const next = jobs
    .filter(({ enabled, next_run_at: at }) => enabled && at !== null)
    .toSorted((a, b) => (a.next_run_at ?? '').localeCompare(b.next_run_at ?? ''))[0];
  const enabled = jobs.filter((job) => job.enabled).length;
  const oneMore = running.next_before === null ? '' : ' or more';
  session.out.result({
    value: {
      url: session.url,
      jobs_total: jobs.length,
      jobs_enabled: enabled,
      running_runs: running.runs.length,
      stale_runs: stale.length,
      agents,
      next_job: next === undefined ? null : { id: next.id, name: next.name, next_run_at: next.next_run_at },
    },
    lines: (): Line[] => [
      fact('server', session.url),
      fact('jobs', `${jobs.length}, ${enabled} enabled`),
      fact('running', `${running.runs.length}${oneMore}`),
      stale.length === 0
        ? fact('stale', 'none')
        : [styled('red', 'stale'.padEnd(12)), ` ${stale.length}: ${idsOf(stale)}`],
      fact('agents', agents.length === 0 ? 'none' : agents.map(inWords).join(', ')),
      fact(
        'next',
        next === undefined
          ? 'nothing'
          : `${next.name} ${relative(next.next_run_at, session.now())} (${next.next_run_at ?? ''})`,
      ),
    ],
  });
};

/** More agents than these are listed by `agents list`. */
const AGENTS = 20;

async function agentsOf(client: SpineClient): Promise<{ id: string; status: string; unread: number }[]> {
  const agents = await client.agents.list();
  return Promise.all(
    agents
      .slice(0, AGENTS)
      .map(async ({ id, status }) => ({ id, status, unread: await client.messages.countUnread(id) })),
  );
}

function inWords({ id, status, unread }: Awaited<ReturnType<typeof agentsOf>>[number]): string {
  return `${id} ${status}${unread === 0 ? '' : ` (${unread} unread)`}`;
}

function idsOf(runs: readonly Run[]): string {
  return runs.map(({ id }) => id).join(', ');
}

/** `runs list <job-id> [limit]` */
export const runsOfJob: Handler = (session, { args: [job = '', limit] }) =>
  runsOfSchedule(session, { args: [job], options: { limit: limit === undefined ? USUAL : Number(limit) } });

export const runningRuns: Handler = (session, { args }) =>
  listRuns(session, { args, options: { status: 'running', limit: PAGE } });

/** `runs stale [threshold-s]` */
export const staleRunsOf: Handler = (session, { args: [seconds] }) => {
  const threshold = seconds === undefined ? {} : { threshold: Number(seconds) * 1_000 };
  return staleRuns(session, { args: [], options: { limit: PAGE, ...threshold } });
};

export const pendingApprovals: Handler = (session, { args }) =>
  listApprovals(session, { args, options: { status: 'pending', limit: PAGE } });

export const allApprovals: Handler = (session, { args }) =>
  listApprovals(session, { args, options: { limit: PAGE } });

/** `jobs reject <id> [reason]` */
export const rejectJob: Handler = (session, { args: [job = '', reason] }) =>
  rejectSchedule(session, { args: [job], options: reason === undefined ? {} : { reason } });
