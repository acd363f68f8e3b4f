/** How a page of a list of jobs is asked for. */

import { FILTERED } from '../../domain/job-fields.ts';
import type { ListFilter } from '../../domain/job-filter.ts';
import type { State } from '../../domain/job.ts';
import type { Sql, Value } from './driver.ts';
import { JOB_COLUMNS } from './job-row.ts';
import { only } from './rows.ts';

/** Takes a value as a parameter and answers its place in the text. */
export type Put = (value: Value) => string;

/** What is asked for besides the state. */
export function further(sql: Sql, filter: ListFilter, put: Put): string[] {
  const where: string[] = [];
  if (filter.targets !== null) where.push(`target in (${filter.targets.map(put).join(', ')})`);
  if (filter.retries) where.push('retry_count > 0');
  if (filter.typeNo !== null) where.push(`type_no = ${put(filter.typeNo)}`);
  if (filter.tag !== null)
    where.push(
      `exists (select 1 from job_tag where job_tag.tag = ${put(filter.tag)} and job_tag.job_no = job.no)`,
    );
  for (const { name, column, is } of FILTERED) {
    const value = filter[name];
    if (value === undefined) continue;
    // A list of texts is kept as JSON: one of them stands there between quotation marks.
    const among = sql.dialect === 'sqlite' ? 'instr' : 'strpos';
    where.push(
      is === 'texts' ? `${among}(${column}, ${put(JSON.stringify(value))}) > 0` : `${column} = ${put(value)}`,
    );
  }
  return where;
}

/** So many jobs of a state are looked at in one go, where not all of them may fit. */
const WINDOW_JOBS = 2_000;

/** Where a list goes: in which direction, and from which number to which. */
export interface Course {
  readonly newest: boolean;
  /** Behind this one. */
  readonly from: number | null;
  /** Up to this one. */
  readonly until: number | null;
}

/**
 * How far one look at a list may go; null when it may go to the end. Whoever asks for what is rare would else walk over all
 * there is. Up to the nearest end of a window nothing is passed by in any state. Walks along job_by_state alone.
 */
export async function windowEnd(sql: Sql, filter: ListFilter): Promise<number | null> {
  const course = { newest: filter.order === 'newest', from: filter.from, until: null };
  const params: Value[] = [];
  const put: Put = (value) => `$${params.push(value)}`;
  if (further(sql, filter, put).length === 0) return null;
  params.length = 0;
  const ends = filter.states
    .filter((state) => state !== 'running')
    .map((state, i) => {
      const walk = `where ${place(sql, put(state), course, put)} order by ${orderOf(course)}`;
      return `select no from (select no from job ${walk} limit 1 offset ${WINDOW_JOBS - 1}) as end${i}`;
    });
  if (ends.length === 0) return null;
  const nearest = course.newest ? 'max' : 'min';
  return only<number | null>(sql, `select ${nearest}(no) from (${ends.join(' union all ')}) as ends`, params);
}

/** The jobs of one state. */
export function page(
  sql: Sql,
  filter: ListFilter,
  state: State,
  course: Course,
  put: Put,
  columns: string = JOB_COLUMNS,
): string {
  const where = [
    state === 'running' ? whileRunning(course, put) : place(sql, put(state), course, put),
    ...further(sql, filter, put),
  ];
  const order = state === 'running' ? `no + 0 ${course.newest ? 'desc' : 'asc'}` : orderOf(course);
  return `select ${columns} from job where ${where.join(' and ')} order by ${order} limit ${put(filter.limit)}`;
}

function orderOf({ newest }: Course): string {
  return newest ? 'state desc, no desc' : 'state asc, no asc';
}

/** Those who run are few, and found by job_lease. The sum keeps the databases from walking along all numbers instead. */
function whileRunning(course: Course, put: Put): string {
  return ["state = 'running'", ...between('no + 0', course, put)].join(' and ');
}

function between(no: string, { newest, from, until }: Course, put: Put): string[] {
  const after = newest ? '<' : '>';
  const before = newest ? '>=' : '<=';
  return [
    ...(from === null ? [] : [`${no} ${after} ${put(from)}`]),
    ...(until === null ? [] : [`${no} ${before} ${put(until)}`]),
  ];
}

/**
 * One state, from a job on. PostgreSQL must not see that the state is one value: it would then expect its rows
 * everywhere and walk along all numbers, over a million finished jobs, to find the first queued one.
 */
function place(sql: Sql, state: string, course: Course, put: Put): string {
  const { newest, from, until } = course;
  // Said in so many words: only then do the databases see that job_by_state has all of these rows.
  const listed = "state <> 'running'";
  if (sql.dialect === 'sqlite')
    return [`state = ${state}`, listed, ...between('no', course, put)].join(' and ');
  const after = newest ? '<' : '>';
  const before = newest ? '>=' : '<=';
  const start = put(from ?? (newest ? Number.MAX_SAFE_INTEGER : 0));
  const end = until === null ? `state ${before} ${state}` : `(state, no) ${before} (${state}, ${put(until)})`;
  return `(state, no) ${after} (${state}, ${start}) and ${end} and ${listed}`;
}
