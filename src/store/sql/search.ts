/** Finding jobs by words of their title and description. Each database has its own engine for it. */

import type { JobInput } from '../../domain/job.ts';
import { perDialect, type Sql } from './driver.ts';

const insert = perDialect((dialect) =>
  dialect === 'postgres'
    ? "insert into job_text (job_no, words) values ($1, setweight(to_tsvector('simple', $2), 'A') || to_tsvector('simple', $3))"
    : 'insert into job_text (rowid, title, description) values ($1, $2, $3)',
);

/** Most jobs of programs have no title: they cost nothing here. */
export async function insertWords(
  sql: Sql,
  rows: readonly { jobNo: number; input: JobInput }[],
): Promise<void> {
  for (const { jobNo, input } of rows) {
    if (input.title === null && input.description === null) continue;
    await sql.run(insert(sql), [jobNo, input.title ?? '', input.description ?? '']);
  }
}

const remove = perDialect((dialect) =>
  dialect === 'postgres'
    ? { one: '', many: 'delete from job_text where job_no = any($1::bigint[])' }
    : { one: 'delete from job_text where rowid = $1', many: '' },
);

export async function deleteWords(sql: Sql, nos: readonly number[]): Promise<void> {
  await sql.byKeys(remove(sql), nos);
}

/** The condition for a list: every word must occur, the last letters may be missing. */
export function wordsCondition(sql: Pick<Sql, 'dialect'>, place: string): string {
  return sql.dialect === 'postgres'
    ? `job.no in (select job_no from job_text where words @@ to_tsquery('simple', ${place}))`
    : `job.no in (select rowid from job_text where job_text match ${place})`;
}

/** Each word once: the beginning of another one finds nothing more, and would be looked up all over again. */
function searchWords(typed: string): string[] {
  const words = new Set(
    typed
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => /[\p{L}\p{N}]/u.test(word)),
  );
  return [...words].filter((word) => ![...words].some((other) => other !== word && other.startsWith(word)));
}

/** Quoted, so that nothing a person types is taken for an operator. */
export function wordsQuery(sql: Pick<Sql, 'dialect'>, typed: string): string {
  const words = searchWords(typed);
  if (sql.dialect === 'postgres') {
    return words.map((word) => `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}':*`).join(' & ');
  }
  return words.map((word) => `"${word.replaceAll('"', '""')}"*`).join(' ');
}
