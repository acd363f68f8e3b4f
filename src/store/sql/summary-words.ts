/** The words of what agents' runs said, to rank earlier runs by. Each database has its own engine for it. */

import type { RunSummary } from '../../domain/run.ts';
import { perDialect, type Sql } from './driver.ts';

// The schedule is a word of its own beside the summary, so that SQLite leaps over the runs of all others.
const insert = perDialect((dialect) =>
  dialect === 'postgres'
    ? "insert into run_text (job_no, words) values ($1, to_tsvector('simple', $2)) on conflict (job_no) do update set words = excluded.words"
    : 'insert or replace into run_text (rowid, summary, schedule) values ($1, $2, $3)',
);

export async function saveSummaryWords(sql: Sql, texts: readonly RunSummary[]): Promise<void> {
  for (const { jobNo, scheduleId, summary } of texts) {
    const params = [jobNo, summary];
    await sql.run(insert(sql), sql.dialect === 'postgres' ? params : [...params, scheduleId]);
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

/** Of a schedule that runs every minute this is most of a day: ranking all of a month would hold up others. */
const RANKED_RUNS = 1_000;

const newest = `select job_no from run_summary where schedule_id = $1 and finished_at <= $2
  order by finished_at desc, job_no desc limit ${RANKED_RUNS}`;

const ranked = perDialect((dialect) =>
  dialect === 'postgres'
    ? `select told.job_no from (${newest}) as told join run_text on run_text.job_no = told.job_no
       where run_text.words @@ to_tsquery('simple', $3)
       order by ts_rank(run_text.words, to_tsquery('simple', $3)) desc, told.job_no desc limit $4 + 0`
    : `select rowid from run_text
       where run_text match $3 and rowid >= (select min(job_no) from (${newest}))
       order by bm25(run_text, 0, 1), rowid desc limit $4 + 0`,
);

/** The runs whose summaries have any of the words, best first by the database's own rank. Words are letters and digits. */
export async function rankedByWords(
  sql: Sql,
  scheduleId: string,
  until: number,
  words: readonly string[],
  limit: number,
): Promise<number[]> {
  if (words.length === 0) return [];
  const query =
    sql.dialect === 'postgres'
      ? words.map((word) => `'${word}'`).join(' | ')
      : `schedule : "${scheduleId}" AND summary : (${words.map((word) => `"${word}"`).join(' OR ')})`;
  const rows = await sql.all(ranked(sql), [scheduleId, until, query, limit]);
  return rows.map(([no]) => no as number);
}
