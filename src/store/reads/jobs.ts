/** Jobs: one by one, in lists, and those for whom something is to be done. */

import type { ClaimedJob } from '../../domain/command.ts';
import { CHANGING } from '../../domain/job-fields.ts';
import type { Found, ListFilter } from '../../domain/job-filter.ts';
import type { Job, JobInput, State } from '../../domain/job.ts';
import { byNumber, perDialect, type Sql, type Value } from '../sql/driver.ts';
import { handedOnBytes, PAST_BYTES, SHOWN_ALWAYS_BYTES } from '../sql/job-bytes.ts';
import { further, page, type Put, windowEnd } from '../sql/job-pages.ts';
import { JOB_COLUMNS, JOB_WIDTH, jobFrom } from '../sql/job-row.ts';
import { column, first, only } from '../sql/rows.ts';
import { listed, windowOf } from '../sql/search.ts';
import { INPUT_BYTES, INPUT_COLUMNS, inputFrom } from '../sql/texts.ts';

export async function byId(sql: Sql, id: string): Promise<Job | null> {
  const text = `select ${JOB_COLUMNS} from job where no = (select job_no from job_input where id = $1)`;
  const row = await first(sql, text, [id]);
  return row && jobFrom(row);
}

const ofNumbers = byNumber(`select ${JOB_COLUMNS} from job`, 'no', 'order by no');

export async function byNo(sql: Sql, nos: readonly number[]): Promise<Job[]> {
  return (await sql.byKeys(ofNumbers, nos)).map(jobFrom);
}

const namesOfNumbers = byNumber('select no, id, target from job', 'no');

/** Which jobs these are and for whom, without what else there is to know of them. */
export async function named(sql: Sql, nos: readonly number[]): Promise<Pick<Job, 'no' | 'id' | 'target'>[]> {
  const rows = (await sql.byKeys(namesOfNumbers, nos)) as [no: number, id: string, target: string][];
  return rows.map(([no, id, target]) => ({ no, id, target }));
}

export interface PrintedRow {
  readonly no: number;
  readonly seq: number;
  /** The fields of `CHANGING` as a JSON array; flags are 0 or 1. */
  readonly text: string;
}

const printing = perDialect((dialect) => {
  const array = dialect === 'sqlite' ? 'json_array' : 'json_build_array';
  const columns = CHANGING.map((field) => field.column).join(', ');
  const select = `select no, seq, cast(${array}(${columns}) as text) from job`;
  return byNumber(select, 'no', 'and schedule_id is null and comments = 0 and checkpoint_at is null');
});

/**
 * Of those that have no comments and no checkpoint and that no schedule made. The database prints the rows: it takes a third of the time of
 * reading thirty values and printing them here.
 */
export async function printed(sql: Sql, nos: readonly number[]): Promise<PrintedRow[]> {
  return (await sql.byKeys(printing(sql), nos)).map(([no, seq, text]) => ({
    no: no as number,
    seq: seq as number,
    text: text as string,
  }));
}

export async function inputOf(sql: Sql, no: number): Promise<JobInput> {
  const text = `select ${INPUT_COLUMNS} from job_input input where input.job_no = $1`;
  return inputFrom((await first(sql, text, [no])) ?? [], 0);
}

export function metaOf(sql: Sql, no: number): Promise<string | null> {
  return only<string | null>(sql, 'select meta from job_input where job_no = $1', [no]);
}

/** The unfinished job that has this key, if any. */
export function findUnique(sql: Sql, typeNo: number, uniqueKey: string): Promise<string | null> {
  const text = 'select id from job where type_no = $1 and unique_key = $2 and finished_at is null';
  return only<string | null>(sql, text, [typeNo, uniqueKey]);
}

/** How many jobs a lineage has, the first included. */
export async function lineageSize(sql: Sql, rootNo: number): Promise<number> {
  return 1 + (await only<number>(sql, 'select count(*) from job where root_no = $1', [rootNo]));
}

/** The newest job of a lineage that was retried. One look at job_root. */
export async function newestOfLineage(sql: Sql, rootNo: number): Promise<Job | null> {
  const text = `select ${JOB_COLUMNS} from job where root_no = $1 order by retry_count desc, no desc limit 1`;
  const row = await first(sql, text, [rootNo]);
  return row && jobFrom(row);
}

/** Ready jobs that have earned points by waiting, those first that have for longest. Served by job_score. */
export function toScore(sql: Sql, now: number, limit: number): Promise<number[]> {
  const text = `select no from job where state = 'queued' and score_at is not null and score_at <= $1
    order by score_at limit $2 + 0`;
  return column<number>(sql, text, [now, limit]);
}

const settledOf = byNumber('select no from job', 'no', 'and settled <> 2');

/** Which of these have ended and are settled, or are gone. */
export async function overAmong(sql: Sql, nos: readonly number[]): Promise<number[]> {
  const open = new Set((await sql.byKeys(settledOf, nos)).map(([no]) => no as number));
  return nos.filter((no) => !open.has(no));
}

/** Whether the target has ready rows that anybody can do, those that another server is looking at included. */
export async function hasReady(sql: Sql, target: string): Promise<boolean> {
  return (
    (await first(
      sql,
      "select 1 from job where target = $1 and state = 'queued' and requires is null limit 1",
      [target],
    )) !== null
  );
}

/** The first set of requirements of the target's ready jobs from this text on. One look at job_ready_by_requires. */
export function firstRequirement(sql: Sql, target: string, from: string): Promise<string | null> {
  const text = "select min(requires) from job where target = $1 and state = 'queued' and requires >= $2";
  return only<string | null>(sql, text, [target, from]);
}

const underClaim = `select ${JOB_COLUMNS}, ${INPUT_BYTES} + ${PAST_BYTES} from job
  join job_input input on input.job_no = job.no
  where job.claim_id = $1 and job.state = 'running' order by job.no limit $2 + 0`;

/** Jobs under a live lease that was asked for with this claim id. */
export async function claimedUnder(sql: Sql, claimId: string, limit: number): Promise<ClaimedJob[]> {
  return (await sql.all(underClaim, [claimId, limit])).map((row) => {
    const job = jobFrom(row);
    const bytes = SHOWN_ALWAYS_BYTES + Number(row[JOB_WIDTH]) + handedOnBytes(job);
    return { job, input: null, bytes };
  });
}

/** One page in the order of creation, however far the last that fits lies behind the first. */
export function list(sql: Sql, filter: ListFilter): Promise<Job[]> {
  return upTo(sql, filter, null);
}

/** The same by looking at a bounded part of the list: a page may be short or empty, and there may yet be more. */
export async function look(sql: Sql, filter: ListFilter): Promise<Found> {
  if (filter.targets?.length === 0 || filter.states.length === 0) return { jobs: [], next: null };
  const end = await windowEnd(sql, filter);
  const jobs = await upTo(sql, filter, end);
  const last = jobs.length === filter.limit ? jobs.at(-1)?.no : undefined;
  return { jobs, next: last ?? end };
}

/** Each state is read along job_by_state and the pages are merged, so that old jobs never slow the new. */
async function upTo(sql: Sql, filter: ListFilter, until: number | null): Promise<Job[]> {
  if (filter.targets?.length === 0 || filter.states.length === 0) return [];
  const course = { newest: filter.order === 'newest', from: filter.from, until };
  const params: Value[] = [];
  const put: Put = (value) => `$${params.push(value)}`;
  const pages = filter.states.map(
    (state, i) => `select * from (${page(sql, filter, state, course, put)}) as page${i}`,
  );
  const order = `order by no ${course.newest ? 'desc' : 'asc'}`;
  const text = `${pages.join(' union all ')} ${order} limit ${put(filter.limit)}`;
  return (await sql.all(text, params)).map(jobFrom);
}

/**
 * A page of those whose title or description has the words; it may be short, and there may yet be more. A window of the
 * jobs with the words is looked at, and of those the ones that fit the rest.
 */
export async function search(sql: Sql, words: string, filter: ListFilter): Promise<Found> {
  if (filter.targets?.length === 0 || filter.states.length === 0) return { jobs: [], next: null };
  const newest = filter.order === 'newest';
  const { nos, lastNo } = await windowOf(sql, words, { newest, from: filter.from });
  if (nos.length === 0) return { jobs: [], next: null };
  const params: Value[] = [];
  const put: Put = (value) => `$${params.push(value)}`;
  const where = [
    `no in ${listed(sql)(put(JSON.stringify(nos)))}`,
    `state in (${filter.states.map(put).join(', ')})`,
    ...further(sql, filter, put),
  ];
  const order = `order by no ${newest ? 'desc' : 'asc'}`;
  // Numbers are put in order first: whole rows would be carried along.
  const fitting = `select no from job where ${where.join(' and ')} ${order} limit ${put(filter.limit)}`;
  const text = `select ${JOB_COLUMNS} from job where no in (${fitting}) ${order}`;
  const jobs = (await sql.all(text, params)).map(jobFrom);
  const last = jobs.length === filter.limit ? jobs.at(-1)?.no : undefined;
  return { jobs, next: last ?? lastNo };
}

/** The ids of those whose run time has come. */
export function due(sql: Sql, now: number, limit: number): Promise<string[]> {
  const text = "select id from job where state = 'scheduled' and run_at <= $1 order by run_at limit $2 + 0";
  return column<string>(sql, text, [now, limit]);
}

/** The ids of those that nobody took in time. */
export function lapsed(sql: Sql, now: number, limit: number): Promise<string[]> {
  const text = `select id from job where start_before is not null and fence = 0 and finished_at is null
    and start_before <= $1 order by start_before limit $2 + 0`;
  return column<string>(sql, text, [now, limit]);
}

/** When the next scheduled job is due, or too late to take, the next timeout ends, or the next question is to be answered. */
export function nextDueAt(sql: Sql): Promise<number | null> {
  const text = `select least_at from (
      select min(run_at) as least_at from job where state = 'scheduled'
      union all select min(timeout_at) from job where state = 'running' and timeout_at is not null
      union all select min(expires_at) from question where status = 'open'
      union all select min(start_before) from job where start_before is not null and fence = 0 and finished_at is null
    ) as moments where least_at is not null order by least_at limit 1`;
  return only<number | null>(sql, text, []);
}

/** The number of the newest job. */
export async function lastNo(sql: Sql): Promise<number> {
  return (await only<number | null>(sql, 'select max(no) from job', [])) ?? 0;
}

export function unsettled(sql: Sql, limit: number): Promise<number[]> {
  return column<number>(sql, 'select no from job where settled = 1 order by no limit $1 + 0', [limit]);
}

export interface PrunableWindow {
  readonly jobs: readonly { no: number; id: string }[];
  /** Where to look next; null when everything behind is too young. */
  readonly nextNo: number | null;
}

/**
 * Looks at a window of finished jobs for old ones that nothing kept refers to: a bounded look along job_by_state. Numbers
 * rise with creation, so the first young row ends the search.
 */
export async function prunable(
  sql: Sql,
  state: State,
  before: number,
  afterNo: number,
  limit: number,
): Promise<PrunableWindow> {
  const text = `
    select no, id, created_at, case when finished_at < $3 and settled = 2
      and not exists (select 1 from job child where child.parent_no = job.no)
      and not exists (select 1 from job later where later.retry_of = job.no)
      and not exists (select 1 from job later where later.root_no = job.no)
      and not exists (select 1 from dependency where dependency.parent_no = job.no)
      and no < (select max(no) from job) then 1 else 0 end
    from job where state = $1 and state <> 'running' and no > $2 order by no limit $4 + 0`;
  const rows = await sql.all(text, [state, afterNo, before, limit]);
  const old = rows.filter((row) => (row[2] as number) < before);
  const jobs = old
    .filter((row) => row[3] === 1)
    .map((row) => ({ no: row[0] as number, id: row[1] as string }));
  const reachedYoung = old.length < rows.length || rows.length < limit;
  return { jobs, nextNo: reachedYoung ? null : ((rows.at(-1)?.[0] ?? null) as number | null) };
}

/** The one that is ready for longest. Served by job_by_state, whose entries lie in the order of creation. */
export async function oldestReady(sql: Sql): Promise<{ no: number; createdAt: number } | null> {
  const row = await first(
    sql,
    "select no, created_at from job where state = 'queued' order by no limit 1",
    [],
  );
  return row && { no: row[0] as number, createdAt: row[1] as number };
}

/** Since when the job is ready that waits longest, judged by the oldest of those that are ready: they come first in job_by_state. */
export async function oldestReadyAt(sql: Sql): Promise<number | null> {
  const text = `select min(since) from (
    select coalesce(queued_at, created_at) as since from job where state = 'queued' order by no limit 100
  ) as oldest`;
  const since = (await sql.all(text, []))[0]?.[0] ?? null;
  return since === null ? null : Number(since);
}
