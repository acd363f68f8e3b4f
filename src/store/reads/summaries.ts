/** What runs said, for those of their schedule that come after them. */

import type { PriorRun } from '../../domain/run.ts';
import type { Row, Sql } from '../sql/driver.ts';
import { listed } from '../sql/search.ts';
import { runsWithWords } from '../sql/summary-words.ts';

/** Whoever has not been summed up by then is forgotten: so many runs between two that ask are rare. */
const LOOKED_AT = 500;

/** The newest runs of a schedule that ended well and have no summary of that end yet. Served by run_by_schedule. */
export async function missing(
  sql: Sql,
  scheduleId: string,
  limit: number,
): Promise<{ readonly jobNo: number; readonly finishedAt: number }[]> {
  const text = `select job.no, job.finished_at
    from (select job_no from run where schedule_id = $1 order by job_no desc limit ${LOOKED_AT}) as newest
    join job on job.no = newest.job_no
    left join run_summary told on told.job_no = job.no and told.finished_at = job.finished_at
    where job.state = 'done' and told.job_no is null
    order by job.no desc limit $2 + 0`;
  const rows = await sql.all(text, [scheduleId, limit]);
  return rows.map(([jobNo, finishedAt]) => ({ jobNo: jobNo as number, finishedAt: finishedAt as number }));
}

// A run that was opened again has another end, or none: what it said before does not count any more.
const TOLD = `select told.job_no, coalesce(run.dispatched_at, job.created_at), told.summary
  from run_summary told join job on job.no = told.job_no join run on run.job_no = told.job_no
  where told.schedule_id = $1 and told.finished_at <= $2 and told.summary <> ''
    and job.state = 'done' and job.finished_at = told.finished_at`;
const NEWEST_FIRST = 'order by told.finished_at desc, told.job_no desc';

/** Those that had ended by then, newest first. Served by run_summary_by_schedule. */
export async function recent(
  sql: Sql,
  scheduleId: string,
  until: number,
  limit: number,
): Promise<PriorRun[]> {
  const rows = await sql.all(`${TOLD} ${NEWEST_FIRST} limit $3 + 0`, [scheduleId, until, limit]);
  return rows.map(priorRun);
}

/** Of each word the newest few that had ended by then and have it; newest first. */
export async function withWords(
  sql: Sql,
  scheduleId: string,
  until: number,
  words: readonly string[],
  perWord: number,
): Promise<PriorRun[]> {
  const nos = await runsWithWords(sql, scheduleId, until, words, perWord);
  if (nos.length === 0) return [];
  const text = `${TOLD} and told.job_no in ${listed(sql)('$3')} ${NEWEST_FIRST}`;
  return (await sql.all(text, [scheduleId, until, JSON.stringify(nos)])).map(priorRun);
}

function priorRun([jobNo, at, summary]: Row): PriorRun {
  return { jobNo: jobNo as number, at: at as number, summary: summary as string };
}
