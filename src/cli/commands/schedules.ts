/** `spine schedules …`: look at them. */

import type { MissedTicks, Schedule, SchedulePreview } from '../../client/index.ts';
import type { Handler } from '../command.ts';
import { usage } from '../failure.ts';
import type { Session } from '../session.ts';
import type { Line } from '../text/line.ts';
import { table } from '../text/table.ts';
import { relative } from '../text/times.ts';
import { runTable, scheduleDetails, scheduleTable, treeLines } from './schedule-lines.ts';
import { findSchedule, scheduleId } from './schedule-ref.ts';
import { given } from './values.ts';

const PAGE = 1_000;

function noneOf({ words }: Session): string {
  return `No ${words.schedule}s. Create one with: ${words.program} ${words.schedule}s add --name "Report" --cron "0 9 * * 1-5" --message "…"`;
}

interface ListOptions {
  readonly enabled?: boolean;
  readonly disabled?: boolean;
}

export const listSchedules: Handler<ListOptions> = async (session, { options }) => {
  if (options.enabled && options.disabled) throw usage('--enabled and --disabled exclude each other.');
  const client = await session.client();
  const enabled = options.enabled ? true : options.disabled ? false : undefined;
  const schedules: Schedule[] = [];
  for await (const each of client.schedules.list(given({ enabled, limit: PAGE }))) schedules.push(each);
  session.out.result({
    value: { schedules },
    lines: () => {
      if (schedules.length > 0) return scheduleTable(schedules, session);
      session.none(noneOf(session));
      return [];
    },
    ids: () => schedules.map(({ id }) => id),
  });
};

export const showTree: Handler = async (session) => {
  const schedules = await (await session.client()).schedules.tree();
  session.out.result({
    value: { schedules },
    lines: () => {
      if (schedules.length === 0) session.out.info(noneOf(session));
      return treeLines(schedules, session.now());
    },
    ids: () => schedules.map(({ id }) => id),
  });
};

export const getSchedule: Handler = async (session, { args: [name = ''] }) => {
  const schedule = await findSchedule(await session.client(), name, session.words);
  session.out.result({
    value: schedule,
    lines: () => scheduleDetails(schedule, session.now()),
    ids: () => [schedule.id],
  });
};

interface PreviewOptions {
  readonly count: number;
  readonly tz?: string;
}

export const previewSchedule: Handler<PreviewOptions> = async (session, { args: [what = ''], options }) => {
  const client = await session.client();
  const { tz, count } = options;
  if (looksLikeCron(what) || tz !== undefined)
    return showPreview(
      session,
      await client.schedules.previewNew({ schedule_cron: what, ...given({ schedule_tz: tz }) }, count),
    );
  showPreview(session, await client.schedules.preview(await scheduleId(client, what, session.words), count));
};

/** `@daily`, or five or six words that each could be a field. */
function looksLikeCron(text: string): boolean {
  if (/^@[a-z]+$/i.test(text)) return true;
  const words = text.trim().split(/\s+/);
  return (words.length === 5 || words.length === 6) && words.every((word) => CRON_FIELD.test(word));
}

const CRON_FIELD =
  /^(?:[\d*?,/+#LW-]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)+$/i;

export function showPreview(session: Session, preview: SchedulePreview): void {
  session.out.result({
    value: preview,
    lines: () => [
      preview.rule,
      ...preview.next_runs.map((time) => `  ${time}  ${relative(time, session.now())}`),
    ],
    ids: () => preview.next_runs,
  });
}

interface Limited {
  readonly limit: number;
}

export const runsOfSchedule: Handler<Limited> = async (session, { args: [name = ''], options }) => {
  const client = await session.client();
  const schedule = await findSchedule(client, name, session.words);
  const page = await client.schedules.runs(schedule.id, { limit: options.limit });
  session.out.result({
    value: page,
    lines: () => {
      if (page.runs.length === 0) {
        const { program, schedule: noun } = session.words;
        session.out.info(
          `${schedule.name} has not run yet. Run it with: ${program} ${noun}s run ${schedule.id}`,
        );
        return [];
      }
      const names = new Map([[schedule.id, schedule.name]]);
      return runTable(page.runs, names, session);
    },
    ids: () => page.runs.map(({ id }) => id),
  });
};

export const missedTicks: Handler<Limited> = async (session, { args: [name = ''], options }) => {
  const client = await session.client();
  const missed = await client.schedules.missed(await scheduleId(client, name, session.words), options.limit);
  session.out.result({ value: { missed }, lines: () => missedTable(session, missed) });
};

function missedTable(session: Session, missed: readonly MissedTicks[]): Line[] {
  if (missed.length === 0) {
    session.out.info('No tick was missed.');
    return [];
  }
  const columns = [
    { head: 'from' },
    { head: 'until' },
    { head: 'ticks', right: true },
    { head: 'why', gives: true },
  ];
  const rows = missed.map(({ from, until, count, reason }) => [from, until, String(count), reason ?? '-']);
  return table(columns, rows, session.out.columns);
}
