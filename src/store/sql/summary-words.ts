/** The words of what agents' runs said, to find earlier runs by. Each database has its own engine for it. */

import type { RunSummary } from '../../domain/run.ts';
import { perDialect, type Sql } from './driver.ts';
import { column, only } from './rows.ts';

// The schedule is a word of its own beside the summary, so that SQLite leaps over the runs of all others.
const insert = perDialect((dialect) =>
  dialect === 'postgres'
    ? "insert into run_text (job_no, words) values ($1, to_tsvector('simple', $2)) on conflict (job_no) do update set words = excluded.words"
    : 'insert or replace into run_text (rowid, summary, schedule) values ($1, $2, $3)',
);

export async function saveSummaryWords(sql: Sql, texts: readonly RunSummary[]): Promise<void> {
  for (const { jobNo, scheduleId, summary } of texts) {
    const params = [jobNo, summary];
    await sql.run(insert(sql), sql.dialect === 'postgres' ? params : [...params, wordOf(scheduleId)]);
  }
}

const remove = perDialect((dialect) =>
  dialect === 'postgres'
    ? { one: '', many: 'delete from run_text where job_no = any($1::bigint[])' }
    : { one: 'delete from run_text where rowid = $1', many: '' },
);

export async function deleteSummaryWords(sql: Sql, nos: readonly number[]): Promise<void> {
  await sql.byKeys(remove(sql), nos);
}

/** Of a schedule that runs every minute this is most of a day: looking through all of a month would hold up others. */
const LOOKED_THROUGH = 1_000;

const newest = `select job_no from run_summary where schedule_id = $1 and finished_at <= $2
  order by finished_at desc, job_no desc limit ${LOOKED_THROUGH}`;

// The rank of SQLite (bm25) walks through the runs of all schedules for every word: 130 ms with 40,000 runs. The newest few
// of each word take 3 ms, and a rare word finds its run however old that is.
const oldestNo = `select min(job_no) from (${newest}) as newest`;
const hits =
  'select rowid from run_text where run_text match $1 and rowid >= $2 order by rowid desc limit $3 + 0';
const postgresHits = `with told as materialized
    (select run_text.job_no, run_text.words from (${newest}) as newest join run_text on run_text.job_no = newest.job_no)
  select distinct found.job_no from json_array_elements_text($3::json) as word, lateral
    (select job_no from told where words @@ to_tsquery('simple', '''' || word || '''') order by job_no desc limit $4 + 0) as found`;

/** The newest few runs whose summaries have each of the words. Words are letters and digits. */
export async function runsWithWords(
  sql: Sql,
  scheduleId: string,
  until: number,
  words: readonly string[],
  perWord: number,
): Promise<number[]> {
  if (sql.dialect === 'postgres') {
    const params = [scheduleId, until, JSON.stringify(words), perWord];
    return column<number>(sql, postgresHits, params);
  }
  const from = await only<number | null>(sql, oldestNo, [scheduleId, until]);
  const found = new Set<number>();
  for (const word of from === null ? [] : words) {
    const query = `schedule : ${wordOf(scheduleId)} AND summary : "${word}"`;
    for (const no of await column<number>(sql, hits, [query, from, perWord])) found.add(no);
  }
  return [...found];
}

/** One word to the index: its parts alone are shared by schedules that were made together. */
function wordOf(scheduleId: string): string {
  return scheduleId.replaceAll('-', '');
}
