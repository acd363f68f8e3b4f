/** What a job has beside its row when a schedule made it. */

import type { FailureCause, Settlement, State } from '../../domain/job.ts';
import type { PastRun, Run, RunFilter, RunKind, RunRecord } from '../../domain/run.ts';
import { byNumber, type KeyQuery, type Row, type Sql, type Value } from '../sql/driver.ts';
import { firstClaimsOf } from '../sql/history.ts';
import { JOB_COLUMNS, JOB_WIDTH, jobFrom } from '../sql/job-row.ts';
import { column, first, only } from '../sql/rows.ts';
import { RUN } from '../sql/tables.ts';

const ofJobs = byNumber(`select ${RUN.selected} from run`, 'job_no');

/** Of those jobs that a schedule made. */
export async function byNo(sql: Sql, jobNos: readonly number[]): Promise<Run[]> {
  return (await sql.byKeys(ofJobs, jobNos)).map((row) => RUN.from(row));
}

const RECORD = `
  select ${JOB_COLUMNS}, ${RUN.selected},
    outcome.result, outcome.error, earlier.id, triggering.id
  from run join job on job.no = run.job_no
  left join job_result outcome on outcome.job_no = job.no
  left join job earlier on earlier.no = job.retry_of
  left join job triggering on triggering.no = run.triggered_by`;

function recordFrom(row: Row, claims: ReadonlyMap<number, number>): RunRecord {
  const [result, error, earlierId, triggeredById] = row.slice(JOB_WIDTH + RUN.width) as (string | null)[];
  const job = jobFrom(row);
  return {
    job,
    run: RUN.from(row, JOB_WIDTH),
    startedAt: claims.get(job.no) ?? null,
    result: result ?? null,
    error: error ?? null,
    earlierId: earlierId ?? null,
    triggeredById: triggeredById ?? null,
  };
}

/** Newest first. */
export function list(sql: Sql, filter: RunFilter): Promise<RunRecord[]> {
  return downTo(sql, filter, null);
}

/** So many runs are looked at in one go, where not all of them may fit. */
const WINDOW_RUNS = 2_000;

/** The same by looking at a bounded number of runs: a page may be short or empty; `next` is the `before` of the next one, if any. */
export async function look(
  sql: Sql,
  filter: RunFilter,
): Promise<{ readonly runs: readonly RunRecord[]; readonly next: number | null }> {
  const end =
    filter.states === undefined && filter.causes === undefined ? null : await windowEnd(sql, filter);
  const runs = await downTo(sql, filter, end);
  const last = runs.length === filter.limit ? runs.at(-1)?.job.no : undefined;
  return { runs, next: last ?? end };
}

/** How far one look may go; null when it may go to the end. */
function windowEnd(sql: Sql, { scheduleId, before }: RunFilter): Promise<number | null> {
  const { where, params } = conditions({ scheduleId, before }, null);
  const text = `select run.job_no from run ${where} order by run.job_no desc limit 1 offset ${WINDOW_RUNS - 1}`;
  return only<number | null>(sql, text, params);
}

async function downTo(sql: Sql, filter: RunFilter, end: number | null): Promise<RunRecord[]> {
  const { where, params } = conditions(filter, end);
  const text = `${RECORD} ${where} order by run.job_no desc limit $${params.length + 1} + 0`;
  return records(sql, await sql.all(text, [...params, filter.limit]));
}

function conditions(
  filter: { readonly [name in keyof Omit<RunFilter, 'limit'>]: RunFilter[name] | undefined },
  end: number | null,
): { readonly where: string; readonly params: Value[] } {
  const where: string[] = [];
  const params: Value[] = [];
  const bind = (value: Value): string => `$${params.push(value)}`;
  if (filter.scheduleId !== undefined) where.push(`run.schedule_id = ${bind(filter.scheduleId)}`);
  if (filter.ids !== undefined)
    where.push(`job.no in (select job_no from job_input where id in (${filter.ids.map(bind).join(', ')}))`);
  if (filter.states !== undefined) where.push(`job.state in (${filter.states.map(bind).join(', ')})`);
  if (filter.causes !== undefined)
    where.push(`coalesce(job.cause, '') in (${filter.causes.map((cause) => bind(cause ?? '')).join(', ')})`);
  if (filter.before !== undefined) where.push(`run.job_no < ${bind(filter.before)}`);
  if (end !== null) where.push(`run.job_no >= ${bind(end)}`);
  return { where: where.length === 0 ? '' : `where ${where.join(' and ')}`, params };
}

async function records(sql: Sql, rows: readonly Row[]): Promise<RunRecord[]> {
  const claims = await firstClaimsOf(
    sql,
    rows.map((row) => row[0] as number),
  );
  return rows.map((row) => recordFrom(row, claims));
}

// What runs is found by its lease: job_lease and job_presence hold nothing else. The sum keeps SQLite from walking along
// all numbers instead.
const HELD = ['<>', '=']
  .map(
    (is) =>
      `select no, updated_at from job where state = 'running' and lease_policy ${is} 'presence' and lease_until >= 0`,
  )
  .join(' union all ');
const SILENT = `select held.no from (${HELD}) as held cross join run
  where run.job_no = held.no and coalesce(run.last_heartbeat, held.updated_at) < $1
  order by held.no + 0 desc limit $2 + 0`;
const recordsOfJobs = byNumber(RECORD, 'run.job_no', 'order by run.job_no desc');

/** Running ones that showed no life since then, newest first. */
export async function silent(sql: Sql, since: number, limit: number): Promise<RunRecord[]> {
  const nos = await column<number>(sql, SILENT, [since, limit]);
  return nos.length === 0 ? [] : records(sql, await sql.byKeys(recordsOfJobs, nos));
}

/** What its agent was sent, as it may be shown; null when it was sent nothing. */
export function prompt(sql: Sql, jobNo: number): Promise<string | null> {
  return only<string | null>(sql, 'select prompt from run_prompt where job_no = $1', [jobNo]);
}

// Served by run_triggered_once.
const starters = byNumber('select distinct triggered_by from run', 'triggered_by', "and kind = 'chain'");

/** Which of these runs have started a child of their schedule by their end. */
export async function chainStarters(sql: Sql, jobNos: readonly number[]): Promise<number[]> {
  return (await sql.byKeys(starters, jobNos)).map(([no]) => no as number);
}

/** Whether the end of this run has started a run of that schedule. */
export async function hasTriggered(sql: Sql, jobNo: number, scheduleId: string): Promise<boolean> {
  const text = "select 1 from run where triggered_by = $1 and schedule_id = $2 and kind = 'chain'";
  return (await first(sql, text, [jobNo, scheduleId])) !== null;
}

/** The newest runs that have ended. Walks the newest runs; those that have not ended are few. */
export function ended(sql: Sql, limit: number): Promise<number[]> {
  const text = `select run.job_no from run join job on job.no = run.job_no
    where job.finished_at is not null order by run.job_no desc limit $1 + 0`;
  return column<number>(sql, text, [limit]);
}

/** Of one schedule, newest first, without those that were skipped. */
export async function history(sql: Sql, scheduleId: string, limit: number): Promise<PastRun[]> {
  const text = `select run.kind, run.due_at, job.created_at, job.state, job.cause, job.finished_at, job.settled, job.retry_at
    from run join job on job.no = run.job_no
    where run.schedule_id = $1 and job.state <> 'skipped' order by run.job_no desc limit $2 + 0`;
  const rows = await sql.all(text, [scheduleId, limit]);
  return rows.map(([kind, dueAt, createdAt, state, cause, finishedAt, settled, retryAt]) => ({
    kind: kind as RunKind,
    dueAt: dueAt as number | null,
    createdAt: createdAt as number,
    state: state as State,
    cause: cause as FailureCause | null,
    finishedAt: finishedAt as number | null,
    settled: settled as Settlement,
    retryAt: retryAt as number | null,
  }));
}

/** A run that has ended and is not tried again is over, also while nobody has reacted to it yet. */
const UNDER_WAY = `
  select run.active, count(*) from run join job on job.no = run.job_no
  where run.schedule_id = $1 and run.active > 0 and (job.finished_at is null or job.retry_at is not null)
  group by run.active`;

/** How many runs of a schedule are under way, and how many wait in line. */
export async function overlap(sql: Sql, scheduleId: string): Promise<{ active: number; waiting: number }> {
  const counts = new Map(
    (await sql.all(UNDER_WAY, [scheduleId])).map(([active, n]) => [active, n as number]),
  );
  return { active: counts.get(1) ?? 0, waiting: counts.get(2) ?? 0 };
}

/** The run that has waited longest. */
export function firstWaiting(sql: Sql, scheduleId: string): Promise<number | null> {
  const text = 'select min(job_no) from run where schedule_id = $1 and active = 2';
  return only<number | null>(sql, text, [scheduleId]);
}

/** Whether any run of these schedules is under way or waits in line. */
export async function anyOpen(sql: Sql, scheduleIds: readonly string[]): Promise<boolean> {
  const one = 'select 1 from run where schedule_id = $1 and active > 0 limit 1';
  return (await sql.byKeys(ofSchedules(one), scheduleIds)).length > 0;
}

/** The numbers of those that have not ended. */
export async function open(sql: Sql, scheduleIds: readonly string[], limit: number): Promise<number[]> {
  const one = `select job.no from run join job on job.no = run.job_no
    where run.schedule_id = $1 and run.active > 0 and job.finished_at is null order by run.job_no`;
  const rows = await sql.byKeys(ofSchedules(one), scheduleIds);
  return rows.slice(0, limit).map(([no]) => no as number);
}

/** How many runs wait in line, by schedule. */
export async function waiting(sql: Sql, scheduleIds: readonly string[]): Promise<Map<string, number>> {
  const one =
    'select schedule_id, count(*) from run where schedule_id = $1 and active = 2 group by schedule_id';
  const rows = await sql.byKeys(ofSchedules(one), scheduleIds);
  return new Map(rows.map(([id, n]) => [id as string, n as number]));
}

function ofSchedules(one: string): KeyQuery {
  return { one, many: one.replace('= $1', '= any($1::text[])') };
}
