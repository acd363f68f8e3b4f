/** How a page of a list of jobs is asked for. */

import { FILTERED } from '../../domain/job-fields.ts';
import type { ListFilter } from '../../domain/job-filter.ts';
import type { State } from '../../domain/job.ts';
import type { Sql, Value } from './driver.ts';
import { JOB_COLUMNS } from './job-row.ts';

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

/** The jobs of one state. */
export function page(
  sql: Sql,
  filter: ListFilter,
  state: State,
  newest: boolean,
  put: Put,
  columns: string = JOB_COLUMNS,
): string {
  const from = filter.from === null ? null : put(filter.from);
  const where = [
    state === 'running' ? whileRunning(newest, from) : place(sql, put(state), newest, from),
    ...further(sql, filter, put),
  ];
  const direction = newest ? 'desc' : 'asc';
  const order = state === 'running' ? `no + 0 ${direction}` : `state ${direction}, no ${direction}`;
  return `select ${columns} from job where ${where.join(' and ')} order by ${order} limit ${put(filter.limit)}`;
}

/** Those who run are few, and found by job_lease. The sum keeps the databases from walking along all numbers instead. */
function whileRunning(newest: boolean, from: string | null): string {
  return `state = 'running'${from === null ? '' : ` and no + 0 ${newest ? '<' : '>'} ${from}`}`;
}

/**
 * One state, from a job on. PostgreSQL must not see that the state is one value: it would then expect its rows
 * everywhere and walk along all numbers, over a million finished jobs, to find the first queued one.
 */
function place(sql: Sql, state: string, newest: boolean, from: string | null): string {
  const after = newest ? '<' : '>';
  // Said in so many words: only then do the databases see that job_by_state has all of these rows.
  const listed = "state <> 'running'";
  if (sql.dialect === 'sqlite')
    return `state = ${state} and ${listed}${from === null ? '' : ` and no ${after} ${from}`}`;
  const start = from ?? (newest ? Number.MAX_SAFE_INTEGER : 0);
  return `(state, no) ${after} (${state}, ${start}) and state ${newest ? '>=' : '<='} ${state} and ${listed}`;
}
