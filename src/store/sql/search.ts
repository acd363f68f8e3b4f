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

/** A word that occurs as it stands in so many jobs is not looked for as the beginning of others. */
const COMMON_JOBS = 1_000;
/** Shorter words, in bytes, are not looked for as beginnings either: nearly everything begins with them. */
const BEGINNING_BYTES = 4;
/** So many jobs with the words are looked at for one page, whatever else they are asked for. */
const WINDOW_JOBS = 2_000;

/**
 * Jobs whose title and description have the words, in the order of their numbers. Both databases walk from the cursor on
 * and stop when the window is full: SQLite along the words' own lists, which are in that order, PostgreSQL along the
 * numbers when the words are common and along the words when they are rare.
 */
const hits = perDialect((dialect) =>
  dialect === 'postgres'
    ? {
        number: 'job_no',
        select: "select job_no from job_text where words @@ to_tsquery('simple', $1)",
      }
    : { number: 'rowid', select: 'select rowid from job_text where job_text match $1' },
);

export interface Window {
  /** The jobs with the words, in order. */
  readonly nos: readonly number[];
  /** Where the window ends; null when there is nothing behind it. */
  readonly lastNo: number | null;
}

/** The next jobs with the words, from behind a number on. */
export async function windowOf(
  sql: Sql,
  typed: string,
  { newest, from }: { readonly newest: boolean; readonly from: number | null },
): Promise<Window> {
  const { number, select } = hits(sql);
  const [after, direction] = newest ? ['<', 'desc'] : ['>', 'asc'];
  const start = from ?? (newest ? Number.MAX_SAFE_INTEGER : 0);
  const text = `${select} and ${number} ${after} $2 order by ${number} ${direction} limit ${WINDOW_JOBS}`;
  const rows = await sql.all(text, [await wordsQuery(sql, typed), start]);
  const nos = rows.map(([no]) => no as number);
  return { nos, lastNo: nos.length === WINDOW_JOBS ? (nos.at(-1) ?? null) : null };
}

/** The numbers of a JSON array, as a table for `in`. */
export const listed = perDialect((dialect) =>
  dialect === 'postgres'
    ? (place: string) => `(select value::bigint from json_array_elements_text(${place}::json))`
    : (place: string) => `(select value from json_each(${place}))`,
);

/** Every word must occur; the last letters of those may be missing that are rare as they stand. */
async function wordsQuery(sql: Sql, typed: string): Promise<string> {
  const words = new Set(typed.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)));
  const terms: string[] = [];
  for (const word of words)
    terms.push((await isTakenWhole(sql, word)) ? quoted(sql, word) : beginning(sql, word));
  return terms.join(sql.dialect === 'postgres' ? ' & ' : ' ');
}

async function isTakenWhole(sql: Sql, word: string): Promise<boolean> {
  if (Buffer.byteLength(word) < BEGINNING_BYTES) return true;
  const text = `select count(*) from (${hits(sql).select} limit ${COMMON_JOBS}) as counted`;
  return (await sql.all(text, [quoted(sql, word)]))[0]?.[0] === COMMON_JOBS;
}

/** Quoted, so that nothing a person types is taken for an operator. */
function quoted(sql: Pick<Sql, 'dialect'>, word: string): string {
  if (sql.dialect === 'postgres') return `'${word.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
  return `"${word.replaceAll('"', '""')}"`;
}

function beginning(sql: Pick<Sql, 'dialect'>, word: string): string {
  return `${quoted(sql, word)}${sql.dialect === 'postgres' ? ':*' : '*'}`;
}
