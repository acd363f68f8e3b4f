/** What a job has beside its row when a schedule made it. */

import type { FailureCause, Settlement, State } from '../../domain/job.ts';
import type { RunKind, RunNote } from '../../domain/schedule.ts';
import type { AdoptableRun, PastRun, Run, RunActivity, RunFilter, RunRecord } from '../types/scheduling.ts';
import { type KeyQuery, perDialect, type Row, type Shape, type Sql, type Value } from './driver.ts';
import { firstClaimAt } from './event-row.ts';
import { JOB_COLUMNS, JOB_WIDTH, jobFrom } from './job-row.ts';

const COLUMNS = [
  ['job_no', 'bigint'],
  ['schedule_id', 'text'],
  ['kind', 'text'],
  ['due_at', 'bigint'],
  ['triggered_by', 'bigint'],
  ['active', 'smallint'],
  ['session_key', 'text'],
  ['transport', 'text'],
  ['dispatched_at', 'bigint'],
  ['last_heartbeat', 'bigint'],
  ['context_summary', 'text'],
] as const satisfies Shape['columns'];
const RUN: Shape = { table: 'run', columns: COLUMNS };
const SELECTED = COLUMNS.map(([name]) => `run.${name}`).join(', ');

function runFrom(row: Row, at = 0): Run {
  return {
    jobNo: row[at] as number,
    scheduleId: row[at + 1] as string,
    kind: row[at + 2] as RunKind,
    dueAt: row[at + 3] as number | null,
    triggeredBy: row[at + 4] as number | null,
    active: row[at + 5] as RunActivity,
    sessionKey: row[at + 6] as string | null,
    transport: row[at + 7] as string | null,
    dispatchedAt: row[at + 8] as number | null,
    lastHeartbeat: row[at + 9] as number | null,
    contextSummary: row[at + 10] as string | null,
  };
}

export function insertRuns(sql: Sql, rows: readonly Run[]) {
  return sql.insert(
    RUN,
    rows.map((run) => [
      run.jobNo,
      run.scheduleId,
      run.kind,
      run.dueAt,
      run.triggeredBy,
      run.active,
      run.sessionKey,
      run.transport,
      run.dispatchedAt,
      run.lastHeartbeat,
      run.contextSummary,
    ]),
  );
}

export async function runOf(sql: Sql, jobNo: number): Promise<Run | null> {
  const [row] = await sql.all(`select ${SELECTED} from run where job_no = $1`, [jobNo]);
  return row === undefined ? null : runFrom(row);
}

const byNo: KeyQuery = {
  one: `select ${SELECTED} from run where job_no = $1`,
  many: `select ${SELECTED} from run where job_no = any($1::bigint[])`,
};

export async function runsByNo(sql: Sql, jobNos: readonly number[]): Promise<Run[]> {
  return (await sql.byKeys(byNo, jobNos)).map((row) => runFrom(row));
}

// Served by run_triggered_once.
const starters: KeyQuery = {
  one: "select distinct triggered_by from run where kind = 'chain' and triggered_by = $1",
  many: "select distinct triggered_by from run where kind = 'chain' and triggered_by = any($1::bigint[])",
};

export async function chainStarters(sql: Sql, jobNos: readonly number[]): Promise<number[]> {
  return (await sql.byKeys(starters, jobNos)).map((row) => row[0] as number);
}

/** Walks the newest runs; those that have not ended are few. */
export async function endedRuns(sql: Sql, limit: number): Promise<number[]> {
  const text = `select run.job_no from run join job on job.no = run.job_no
    where job.finished_at is not null order by run.job_no desc limit $1 + 0`;
  return (await sql.all(text, [limit])).map((row) => row[0] as number);
}

export async function runHistory(sql: Sql, scheduleId: string, limit: number): Promise<PastRun[]> {
  const text = `select run.kind, run.due_at, job.created_at, job.state, job.cause, job.finished_at, job.settled, job.retry_at
    from run join job on job.no = run.job_no
    where run.schedule_id = $1 and job.state <> 'skipped' order by run.job_no desc limit $2 + 0`;
  return (await sql.all(text, [scheduleId, limit])).map((row) => ({
    kind: row[0] as RunKind,
    dueAt: row[1] as number | null,
    createdAt: row[2] as number,
    state: row[3] as State,
    cause: row[4] as FailureCause | null,
    finishedAt: row[5] as number | null,
    settled: row[6] as Settlement,
    retryAt: row[7] as number | null,
  }));
}

export async function hasTriggered(sql: Sql, jobNo: number, scheduleId: string): Promise<boolean> {
  const text = "select 1 from run where triggered_by = $1 and schedule_id = $2 and kind = 'chain'";
  return (await sql.all(text, [jobNo, scheduleId])).length > 0;
}

export async function setActivity(sql: Sql, jobNo: number, active: RunActivity): Promise<void> {
  await sql.run('update run set active = $2 where job_no = $1', [jobNo, active]);
}

const NOTES = {
  sessionKey: 'session_key',
  transport: 'transport',
  dispatchedAt: 'dispatched_at',
  lastHeartbeat: 'last_heartbeat',
  contextSummary: 'context_summary',
} as const satisfies Record<keyof RunNote, string>;

/** What is left out stays as it was; null takes back what was written. */
export async function noteRun(sql: Sql, jobNo: number, note: RunNote): Promise<void> {
  const params: Value[] = [jobNo];
  const sets = Object.entries(NOTES).flatMap(([key, column]) => {
    const value = note[key as keyof RunNote];
    return value === undefined ? [] : [`${column} = $${params.push(value)}`];
  });
  if (sets.length > 0) await sql.run(`update run set ${sets.join(', ')} where job_no = $1`, params);
}

/** A run that has ended and is not tried again is over, also while nobody has reacted to it yet. */
const UNDER_WAY = `
  select run.active, count(*) from run join job on job.no = run.job_no
  where run.schedule_id = $1 and run.active > 0 and (job.finished_at is null or job.retry_at is not null)
  group by run.active`;

export async function overlap(sql: Sql, scheduleId: string): Promise<{ active: number; waiting: number }> {
  const counts = new Map((await sql.all(UNDER_WAY, [scheduleId])).map((row) => [row[0], row[1] as number]));
  return { active: counts.get(1) ?? 0, waiting: counts.get(2) ?? 0 };
}

export async function firstWaiting(sql: Sql, scheduleId: string): Promise<number | null> {
  const text = 'select min(job_no) from run where schedule_id = $1 and active = 2';
  return ((await sql.all(text, [scheduleId]))[0]?.[0] ?? null) as number | null;
}

export async function anyOpenRun(sql: Sql, scheduleIds: readonly string[]): Promise<boolean> {
  const one = 'select 1 from run where schedule_id = $1 and active > 0 limit 1';
  const rows = await sql.byKeys({ one, many: one.replace('= $1', '= any($1::text[])') }, scheduleIds);
  return rows.length > 0;
}

export async function openRuns(sql: Sql, scheduleIds: readonly string[], limit: number): Promise<string[]> {
  const one = `select job.id from run join job on job.no = run.job_no
    where run.schedule_id = $1 and run.active > 0 and job.finished_at is null order by run.job_no`;
  const rows = await sql.byKeys({ one, many: one.replace('= $1', '= any($1::text[])') }, scheduleIds);
  return rows.slice(0, limit).map((row) => row[0] as string);
}

export async function outcomeOf(sql: Sql, jobNo: number) {
  const [row] = await sql.all('select result, error from job_result where job_no = $1', [jobNo]);
  return { result: (row?.[0] ?? null) as string | null, error: (row?.[1] ?? null) as string | null };
}

export async function lineageSize(sql: Sql, rootNo: number): Promise<number> {
  const [row] = await sql.all('select count(*) from job where root_no = $1', [rootNo]);
  return 1 + (row?.[0] as number);
}

/** How many runs wait in line, by schedule. */
export async function waitingRuns(sql: Sql, scheduleIds: readonly string[]): Promise<Map<string, number>> {
  const one =
    'select schedule_id, count(*) from run where schedule_id = $1 and active = 2 group by schedule_id';
  const rows = await sql.byKeys({ one, many: one.replace('= $1', '= any($1::text[])') }, scheduleIds);
  return new Map(rows.map((row) => [row[0] as string, row[1] as number]));
}

const record = perDialect(
  (dialect) => `
  select ${JOB_COLUMNS}, ${SELECTED},
    ${firstClaimAt({ dialect })},
    outcome.result, outcome.error, earlier.id, triggering.id
  from run join job on job.no = run.job_no
  left join job_result outcome on outcome.job_no = job.no
  left join job earlier on earlier.no = job.retry_of
  left join job triggering on triggering.no = run.triggered_by`,
);

function recordFrom(row: Row): RunRecord {
  const rest = JOB_WIDTH + COLUMNS.length;
  return {
    job: jobFrom(row),
    run: runFrom(row, JOB_WIDTH),
    startedAt: row[rest] as number | null,
    result: row[rest + 1] as string | null,
    error: row[rest + 2] as string | null,
    earlierId: row[rest + 3] as string | null,
    triggeredById: row[rest + 4] as string | null,
  };
}

/** Newest first. */
export async function runs(sql: Sql, filter: RunFilter): Promise<RunRecord[]> {
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
  const condition = where.length === 0 ? '' : `where ${where.join(' and ')}`;
  const text = `${record(sql)} ${condition} order by run.job_no desc limit ${bind(filter.limit)} + 0`;
  return (await sql.all(text, params)).map(recordFrom);
}

/** Running jobs whose work may go on without their holder. */
export async function adoptable(sql: Sql): Promise<AdoptableRun[]> {
  const text = `
    select id, lease_token, claim_id, target from job
    where state = 'running' and lease_policy = 'adopt' order by no`;
  return (await sql.all(text, [])).map((row) => ({
    id: row[0] as string,
    leaseToken: row[1] as string,
    claimId: row[2] as string | null,
    target: row[3] as string,
  }));
}
