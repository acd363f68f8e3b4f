/** Jobs in a transaction: lock, claim order, insert, update. */

import type { ClaimedJob, LogLine } from '../../domain/command.ts';
import type { Job, JobInput } from '../../domain/job.ts';
import type { Change, NewRow, ReadyWindow } from '../store.ts';
import { PAST_BYTES, SHOWN_ALWAYS_BYTES } from './details.ts';
import { type KeyQuery, locking, perDialect, type Row, type Shape, type Sql } from './driver.ts';
import { moveOut, outgrowsRow } from './history.ts';
import {
  claimRow,
  endingRow,
  endsLease,
  insertRow,
  isClaim,
  JOB_COLUMNS,
  JOB_RARELY,
  JOB_WIDTH,
  jobFrom,
  jobShapes,
  oftenRow,
  rarelyChanged,
  rarelyRow,
} from './job-row.ts';
import { READY_WIDTH, readyColumns, readyJobFrom } from './ready-row.ts';
import { deleteWords, insertWords } from './search.ts';
import { insertTags } from './tags.ts';
import { INPUT, INPUT_BYTES, INPUT_COLUMNS, inputFrom, inputRow } from './texts.ts';

// Rows are locked in the order of their numbers, whatever the order of the commands: two flushes never deadlock.
const lockById: KeyQuery = {
  one: `select ${JOB_COLUMNS} from job where no = (select job_no from job_input where id = $1)`,
  many: `select ${JOB_COLUMNS} from job where no = any(array(select job_no from job_input where id = any($1::text[])))
    order by no for update`,
};
const lockByNo: KeyQuery = {
  one: `select ${JOB_COLUMNS} from job where no = $1`,
  many: `select ${JOB_COLUMNS} from job where no = any($1::bigint[]) order by no for update`,
};

export async function lockJobs(sql: Sql, ids: readonly string[]): Promise<Job[]> {
  return (await sql.byKeys(lockById, ids)).map(jobFrom);
}

export async function lockJobsByNo(sql: Sql, nos: readonly number[]): Promise<Job[]> {
  return (await sql.byKeys(lockByNo, nos)).map(jobFrom);
}

// A bare LIMIT parameter makes SQLite compile the statement anew at every call, hence `+ 0`, here and elsewhere.
// One index head per target, never "target in (…)": at a million rows that is 271 ms against 0.13 ms.
const ready = perDialect((dialect) => {
  const best = "job.state = 'queued' order by job.priority desc, job.no";
  // An input that is too large to come along leaves its columns null and says how large it is.
  const large = `case when input.job_no is null then (select ${INPUT_BYTES} from job_input input where input.job_no = job.no) end`;
  const head = `select ${readyColumns({ dialect })}, ${large}, ${INPUT_COLUMNS} from`;
  const carried = (limit: string): string => `input.job_no = job.no and ${INPUT_BYTES} <= ${limit}`;
  // On PostgreSQL rows that others hold are passed over before anything is done for them, or several servers would
  // mostly look up inputs of each other's jobs. Two servers at once see disjoint rows.
  const select = (which: string, limit: string, carriedBytes: string): string =>
    dialect === 'sqlite'
      ? `${head} job left join job_input input on ${carried(carriedBytes)} where ${which} and ${best} limit ${limit} + 0`
      : `${head} (select job.* from job where ${which} and ${best} limit ${limit} + 0 for update skip locked) as job
         left join lateral (select * from job_input input where ${carried(carriedBytes)} offset 0) as input on true`;
  return {
    // Served by job_ready and job_ready_by_type.
    ofTarget: select('job.target = $1', '$2', '$3'),
    ofType: select('job.target = $1 and job.type_no = $2', '$3', '$4'),
    underClaim: `select ${JOB_COLUMNS}, ${INPUT_BYTES} + ${PAST_BYTES} from job
      join job_input input on input.job_no = job.no
      where job.claim_id = $1 and job.state = 'running' order by job.no limit $2 + 0`,
  };
});

export async function readyJobs(sql: Sql, target: string, window: ReadyWindow): Promise<ClaimedJob[]> {
  const params = [target, window.limit, window.carriedBytes];
  return (await sql.all(ready(sql).ofTarget, params)).map((row) => readyFrom(row, target));
}

export async function readyJobsOfType(
  sql: Sql,
  target: string,
  typeNo: number,
  window: ReadyWindow,
): Promise<ClaimedJob[]> {
  const params = [target, typeNo, window.limit, window.carriedBytes];
  return (await sql.all(ready(sql).ofType, params)).map((row) => readyFrom(row, target));
}

function readyFrom(row: Row, target: string): ClaimedJob {
  const { job, pastBytes } = readyJobFrom(row, target);
  const large = row[READY_WIDTH] as number | null;
  const input = large === null ? inputFrom(row, READY_WIDTH + 1) : null;
  const bytes = SHOWN_ALWAYS_BYTES + pastBytes + (large ?? charsOf(row));
  return { job, input, bytes };
}

/** Near enough to its bytes for what is small. */
function charsOf(row: Row): number {
  let chars = 0;
  for (let i = READY_WIDTH + 1; i < row.length; i++) chars += (row[i] as string | null)?.length ?? 0;
  return chars;
}

export async function hasReady(sql: Sql, target: string): Promise<boolean> {
  const text = "select 1 from job where target = $1 and state = 'queued' limit 1";
  return (await sql.all(text, [target])).length > 0;
}

export async function claimedUnder(sql: Sql, claimId: string, limit: number): Promise<ClaimedJob[]> {
  return (await sql.all(ready(sql).underClaim, [claimId, limit])).map((row) => ({
    job: jobFrom(row),
    input: null,
    bytes: SHOWN_ALWAYS_BYTES + Number(row[JOB_WIDTH]),
  }));
}

export async function insertJobs(sql: Sql, rows: readonly NewRow[]): Promise<number[]> {
  const nos = await sql.insertNumbered(
    jobShapes(sql).insert,
    rows.map((row) => insertRow(row.job)),
    'id',
  );
  await sql.insert(
    INPUT,
    rows.map((row, i) => inputRow(nos[i] ?? 0, row.job.id, row.input)),
  );
  await insertWords(
    sql,
    rows.map((row, i) => ({ jobNo: nos[i] ?? 0, input: row.input })),
  );
  await insertTags(
    sql,
    rows.map((row, i) => ({ jobNo: nos[i] ?? 0, tags: row.input.tags })),
  );
  return nos;
}

export async function updateJobs(sql: Sql, changes: readonly Change[]): Promise<void> {
  const often: Row[] = [];
  const claims: Row[] = [];
  const endings: Row[] = [];
  const rarely: Row[] = [];
  const full: number[] = [];
  for (const { before, after } of changes) {
    if (endsLease(before, after)) endings.push(endingRow(after));
    else if (isClaim(before, after)) claims.push(claimRow(after));
    else often.push(oftenRow(after));
    if (rarelyChanged(before, after)) rarely.push(rarelyRow(after));
    if (outgrowsRow(before, after)) full.push(after.no);
  }
  const shapes = jobShapes(sql);
  // All are sent before any is waited for: on a pipelined connection the commit follows at once.
  await Promise.all([
    moveOut(sql, full),
    sql.update(shapes.often, often),
    sql.update(shapes.claim, claims),
    sql.update(shapes.ending, endings),
    sql.update(JOB_RARELY, rarely),
  ]);
}

const OUTCOME: Shape = {
  table: 'job_result',
  columns: [
    ['job_no', 'bigint'],
    ['result', 'text'],
    ['error', 'text'],
  ],
  onConflict: 'on conflict (job_no) do update set result = excluded.result, error = excluded.error',
};

export function saveOutcomes(
  sql: Sql,
  rows: readonly { jobNo: number; result: string | null; error: string | null }[],
) {
  return sql.insert(
    OUTCOME,
    rows.map((row) => [row.jobNo, row.result, row.error]),
  );
}

const COMMENT: Shape = {
  table: 'comment',
  columns: [
    ['job_no', 'bigint'],
    ['seq', 'bigint'],
    ['at', 'bigint'],
    ['author', 'text'],
    ['body', 'text'],
  ],
};

export function addComments(
  sql: Sql,
  rows: readonly { jobNo: number; seq: number; at: number; by: string; text: string }[],
) {
  return sql.insert(
    COMMENT,
    rows.map((row) => [row.jobNo, row.seq, row.at, row.by, row.text]),
  );
}

const LOG: Shape = {
  table: 'job_log',
  columns: [
    ['job_no', 'bigint'],
    ['attempt', 'bigint'],
    ['at', 'bigint'],
    ['level', 'text'],
    ['body', 'text'],
  ],
};

export function addLogs(sql: Sql, rows: readonly { jobNo: number; attempt: number; line: LogLine }[]) {
  return sql.insert(
    LOG,
    rows.map((row) => [row.jobNo, row.attempt, row.line.at, row.line.level, row.line.text]),
  );
}

export async function findUnique(sql: Sql, typeNo: number, uniqueKey: string): Promise<string | null> {
  const text = 'select id from job where type_no = $1 and unique_key = $2 and finished_at is null';
  const [row] = await sql.all(text, [typeNo, uniqueKey]);
  return row === undefined ? null : (row[0] as string);
}

export async function countChildren(sql: Sql, parentNo: number): Promise<number> {
  const [row] = await sql.all('select count(*) from job where parent_no = $1', [parentNo]);
  return row?.[0] as number;
}

export async function treeAbove(sql: Sql, no: number): Promise<{ topNo: number; depth: number }> {
  const text = `
    with recursive line (no, parent_no, depth) as (
      select no, parent_no, 0 from job where no = $1
      union all
      select above.no, above.parent_no, line.depth + 1 from job above join line on above.no = line.parent_no
    )
    select no, depth from line order by depth desc limit 1`;
  const [row] = await sql.all(text, [no]);
  return { topNo: (row?.[0] ?? no) as number, depth: (row?.[1] ?? 0) as number };
}

export async function countDescendants(sql: Sql, no: number, limit: number): Promise<number> {
  const text = `
    with recursive family (no) as (
      select no from job where parent_no = $1
      union all
      select child.no from job child join family on child.parent_no = family.no
    )
    select count(*) from (select no from family limit $2 + 0) counted`;
  return (await sql.all(text, [no, limit]))[0]?.[0] as number;
}

export async function openDescendants(sql: Sql, no: number, limit: number): Promise<number[]> {
  const text = `
    with recursive family (no, finished_at) as (
      select no, finished_at from job where parent_no = $1
      union all
      select child.no, child.finished_at from job child join family on child.parent_no = family.no
    )
    select no from family where finished_at is null order by no limit $2 + 0`;
  return (await sql.all(text, [no, limit])).map((row) => row[0] as number);
}

export async function inputOf(sql: Sql, jobNo: number): Promise<JobInput> {
  const [row] = await sql.all(`select ${INPUT_COLUMNS} from job_input input where input.job_no = $1`, [
    jobNo,
  ]);
  return inputFrom(row ?? [], 0);
}

// Locked, or a dependent that is created while the lineage settles would wait for ever.
const lastMember = perDialect(
  (dialect) =>
    `select ${JOB_COLUMNS} from job where root_no = $1 order by retry_count desc limit 1${locking({ dialect }, 'for update')}`,
);

export async function lastOfLineage(sql: Sql, rootNo: number): Promise<Job | null> {
  const [row] = await sql.all(lastMember(sql), [rootNo]);
  return row === undefined ? null : jobFrom(row);
}

const belongings = [
  'event',
  'history',
  'job_input',
  'job_result',
  'job_tag',
  'comment',
  'job_log',
  'dependency',
  'blob',
  'run',
  'approval',
];

/** Removes jobs with everything that hangs on them. */
export async function deleteJobs(sql: Sql, nos: readonly number[]): Promise<void> {
  for (const table of belongings) await deleteByKeys(sql, table, 'job_no', nos);
  await deleteWords(sql, nos);
  await deleteByKeys(sql, 'job', 'no', nos);
}

async function deleteByKeys(sql: Sql, table: string, column: string, nos: readonly number[]): Promise<void> {
  const one = `delete from ${table} where ${column} = $1`;
  await sql.byKeys({ one, many: `delete from ${table} where ${column} = any($1::bigint[])` }, nos);
}
