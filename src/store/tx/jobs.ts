/** Jobs in a transaction: lock, claim order, insert, update. */

import type { ClaimedJob, WriteKind } from '../../domain/command.ts';
import type { Job, JobInput, Outcome } from '../../domain/job.ts';
import { type KeyQuery, locking, perDialect, type Row, type Shape, type Sql } from '../sql/driver.ts';
import { moveOut, outgrowsRow } from '../sql/history.ts';
import { handedOnBytes, SHOWN_ALWAYS_BYTES } from '../sql/job-bytes.ts';
import {
  claimRow,
  endingRow,
  insertPlainRow,
  insertRow,
  JOB_COLUMNS,
  JOB_RARELY,
  JOB_RAW,
  jobFrom,
  jobShapes,
  oftenRow,
  rarelyChanged,
  rarelyRow,
  rawRow,
} from '../sql/job-row.ts';
import { isPlain } from '../sql/plain-job.ts';
import { READY_WIDTH, readyColumns, readyJobFrom } from '../sql/ready-row.ts';
import { first } from '../sql/rows.ts';
import { insertWords } from '../sql/search.ts';
import { raiseSequence } from '../sql/sequence.ts';
import { insertTags } from '../sql/tags.ts';
import { INPUT, INPUT_BYTES, INPUT_COLUMNS, inputFrom, inputRow } from '../sql/texts.ts';

// Rows are locked in the order of their numbers, whatever the order of the commands: two commits never deadlock.
const lockedById: KeyQuery = {
  one: `select ${JOB_COLUMNS} from job where no = (select job_no from job_input where id = $1)`,
  many: `select ${JOB_COLUMNS} from job where no = any(array(select job_no from job_input where id = any($1::text[])))
    order by no for update`,
};
const lockedByNo: KeyQuery = {
  one: `select ${JOB_COLUMNS} from job where no = $1`,
  many: `select ${JOB_COLUMNS} from job where no = any($1::bigint[]) order by no for update`,
};

const freeById: KeyQuery = { one: lockedById.one, many: `${lockedById.many} skip locked` };

/** Locks the rows in the order of their numbers and reads them. */
export async function lock(sql: Sql, ids: readonly string[]): Promise<Job[]> {
  return (await sql.byKeys(lockedById, ids)).map(jobFrom);
}

/** The same without waiting for anybody: rows that others hold are left out. */
export async function lockFree(sql: Sql, ids: readonly string[]): Promise<Job[]> {
  return (await sql.byKeys(freeById, ids)).map(jobFrom);
}

export async function lockByNo(sql: Sql, nos: readonly number[]): Promise<Job[]> {
  return (await sql.byKeys(lockedByNo, nos)).map(jobFrom);
}

// A bare LIMIT parameter makes SQLite compile the statement anew at every call, hence `+ 0`, here and elsewhere.
// One index head per target, never "target in (…)": at a million rows that is 271 ms against 0.13 ms.
const best = perDialect((dialect) => {
  const inOrder = 'order by job.priority desc, job.no';
  const plain = "job.state = 'queued' and job.requires is null";
  const requiring = "job.state = 'queued' and job.requires = $4";
  // An input that is too large to come along leaves its columns null and says how large it is.
  const large = `case when input.job_no is null then (select ${INPUT_BYTES} from job_input input where input.job_no = job.no) end`;
  const head = `select ${readyColumns({ dialect })}, ${large}, ${INPUT_COLUMNS} from`;
  const carried = (limit: string): string => `input.job_no = job.no and ${INPUT_BYTES} <= ${limit}`;
  // On PostgreSQL rows that others hold are passed over before anything is done for them, or several servers would
  // mostly look up inputs of each other's jobs. Two servers at once see disjoint rows.
  const select = (which: string, limit: string, carriedBytes: string): string =>
    dialect === 'sqlite'
      ? `${head} job left join job_input input on ${carried(carriedBytes)} where ${which} ${inOrder} limit ${limit} + 0`
      : `${head} (select job.* from job where ${which} ${inOrder} limit ${limit} + 0 for update skip locked) as job
         left join lateral (select * from job_input input where ${carried(carriedBytes)} offset 0) as input on true`;
  // Served by job_ready, job_ready_by_type and job_ready_by_requires.
  const of = (which: string): string => select(`job.target = $1 and ${which}`, '$2', '$3');
  return {
    plain: of(plain),
    plainOfType: of(`${plain} and job.type_no = $4`),
    requiring: of(requiring),
    requiringOfType: of(`${requiring} and job.type_no = $5`),
  };
});

/** Which ready jobs to read: those of one target and one set of requirements, or of none, of all types or of one. */
export interface ReadyOf {
  readonly target: string;
  readonly typeNo: number | null;
  readonly requires: string | null;
}

/** How much of the ready jobs to read. */
export interface ReadyWindow {
  readonly limit: number;
  /** Inputs up to this size are read along. */
  readonly carriedBytes: number;
}

/** The best ready rows, in claim order, locked; rows that another server holds are passed over. */
export async function ready(
  sql: Sql,
  { target, typeNo, requires }: ReadyOf,
  { limit, carriedBytes }: ReadyWindow,
): Promise<ClaimedJob[]> {
  const texts = best(sql);
  const [all, ofType] =
    requires === null ? [texts.plain, texts.plainOfType] : [texts.requiring, texts.requiringOfType];
  const params = [target, limit, carriedBytes, ...(requires === null ? [] : [requires])];
  const rows = await (typeNo === null ? sql.all(all, params) : sql.all(ofType, [...params, typeNo]));
  return rows.map((row) => readyFrom(row, target));
}

function readyFrom(row: Row, target: string): ClaimedJob {
  const { job, pastBytes } = readyJobFrom(row, target);
  const large = row[READY_WIDTH] as number | null;
  const input = large === null ? inputFrom(row, READY_WIDTH + 1) : null;
  const bytes = SHOWN_ALWAYS_BYTES + pastBytes + handedOnBytes(job) + (large ?? charsOf(row));
  return { job, input, bytes };
}

/** Near enough to its bytes for what is small. */
function charsOf(row: Row): number {
  let chars = 0;
  for (let i = READY_WIDTH + 1; i < row.length; i++) chars += (row[i] as string | null)?.length ?? 0;
  return chars;
}

export interface NewRow {
  readonly job: Omit<Job, 'no'>;
  readonly input: JobInput;
}

/** Answers their numbers. */
export async function insert(sql: Sql, rows: readonly NewRow[]): Promise<number[]> {
  const { insert, insertPlain } = jobShapes(sql);
  const nos = rows.every(({ job }) => isPlain(job))
    ? await sql.insertNumbered(
        insertPlain,
        rows.map(({ job }) => insertPlainRow(job)),
        'id',
      )
    : await sql.insertNumbered(
        insert,
        rows.map(({ job }) => insertRow(job)),
        'id',
      );
  await insertInputs(sql, rows, nos);
  return nos;
}

const RAW: Shape = {
  ...JOB_RAW,
  given: [
    ['plain', '0'],
    ['commits', "''"],
  ],
};

/** Rows that keep the numbers they had: for import and rebuild. */
export async function insertRaw(
  sql: Sql,
  rows: readonly { readonly job: Job; readonly input: JobInput }[],
): Promise<void> {
  await sql.insert(
    RAW,
    rows.map(({ job }) => rawRow(job)),
  );
  await insertInputs(
    sql,
    rows,
    rows.map(({ job }) => job.no),
  );
  await raiseSequence(sql, 'job');
}

async function insertInputs(sql: Sql, rows: readonly NewRow[], nos: readonly number[]): Promise<void> {
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
}

/** A row before and after its commands. */
export interface Change {
  readonly before: Job;
  readonly after: Job;
  /** A claim or the end of a lease that is all that happened to the row: each has a narrower statement of its own. */
  readonly kind: WriteKind;
}

export async function update(sql: Sql, changes: readonly Change[]): Promise<void> {
  const often: Row[] = [];
  const claims: Row[] = [];
  const endings: Row[] = [];
  const rarely: Row[] = [];
  const full: number[] = [];
  for (const { before, after, kind } of changes) {
    if (kind === 'end') endings.push(endingRow(after));
    else if (kind === 'claim') claims.push(claimRow(after));
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

export function saveOutcomes(sql: Sql, rows: readonly (Outcome & { readonly jobNo: number })[]) {
  return sql.insert(
    OUTCOME,
    rows.map((row) => [row.jobNo, row.result, row.error]),
  );
}

const OUTCOME_ERROR: Shape = {
  table: 'job_result',
  columns: [
    ['job_no', 'bigint'],
    ['error', 'text'],
  ],
  onConflict: 'on conflict (job_no) do update set error = excluded.error',
};

/** A result that is there already stays. */
export function saveErrors(
  sql: Sql,
  rows: readonly { readonly jobNo: number; readonly error: string | null }[],
) {
  return sql.insert(
    OUTCOME_ERROR,
    rows.map((row) => [row.jobNo, row.error]),
  );
}

// Locked, or a dependent that is created while the lineage settles would wait for ever.
const lastMember = perDialect(
  (dialect) =>
    `select ${JOB_COLUMNS} from job where root_no = $1 order by retry_count desc, no desc limit 1${locking({ dialect }, 'for update')}`,
);

/** The newest job of a lineage, which says how the whole ended. */
export async function lastOfLineage(sql: Sql, rootNo: number): Promise<Job | null> {
  const row = await first(sql, lastMember(sql), [rootNo]);
  return row && jobFrom(row);
}

export { joinMeta, reword } from './job-rewording.ts';
export { orphan, remove } from './job-removal.ts';
