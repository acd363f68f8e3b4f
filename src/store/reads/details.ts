/** What belongs to jobs but does not live in their rows, for many jobs at once. */

import type { Job, JobComment, JobDetails, Outcome } from '../../domain/job.ts';
import { LIMITS } from '../../domain/limits.ts';
import { byNumber, type KeyQuery, type Row, type Sql } from '../sql/driver.ts';
import { SHOWN_ALWAYS_BYTES } from '../sql/job-bytes.ts';
import { INPUT_BYTES, INPUT_COLUMNS, INPUT_WIDTH, inputFrom } from '../sql/texts.ts';

/** Of a job's comments, the newest so many are shown with it. Comments are numbered from 1. */
const SHOWN_COMMENTS = `seq > (select comments from job where no = job_no) - ${LIMITS.commentsShown}`;

const columns = `input.job_no, ${INPUT_COLUMNS}, result.result, result.error`;
const from = 'from job_input input left join job_result result on result.job_no = input.job_no';
const outcomeBytes = 'coalesce(octet_length(result.result), 0) + coalesce(octet_length(result.error), 0)';
const inputs = byNumber(`select ${columns} ${from}`, 'input.job_no');
const smallInputs = byNumber(
  `select ${columns} ${from}`,
  'input.job_no',
  `and ${INPUT_BYTES} + ${outcomeBytes} <= ${LIMITS.smallBytes}`,
);
const inputSizes = byNumber(`select input.job_no, ${INPUT_BYTES} + ${outcomeBytes} ${from}`, 'input.job_no');
const commentSizes = byNumber(
  'select job_no, sum(octet_length(body)) from comment',
  'job_no',
  `and ${SHOWN_COMMENTS} group by job_no`,
);
const results = byNumber('select job_no, result, error from job_result', 'job_no');
const resultSizes = byNumber(
  'select job_no, coalesce(octet_length(result), 0) + coalesce(octet_length(error), 0) from job_result',
  'job_no',
);
const comments = byNumber(
  'select job_no, at, author, body from comment',
  'job_no',
  `and ${SHOWN_COMMENTS} order by job_no, seq`,
);
const titlesOnly = byNumber('select job_no, title from job_input', 'job_no');
const ids = byNumber('select no, id from job', 'no');
const types = byNumber('select no, name from job_type', 'no');

export async function of(sql: Sql, jobs: readonly Job[]): Promise<Map<number, JobDetails>> {
  return joined(sql, jobs, await sql.byKeys(inputs, nosOf(jobs)));
}

/** Of those that are small enough to be read without a thought. */
export async function ofSmall(sql: Sql, jobs: readonly Job[]): Promise<Map<number, JobDetails>> {
  const quiet = jobs.filter((job) => job.comments * LIMITS.commentChars <= LIMITS.smallBytes);
  const rows = quiet.length === 0 ? [] : await sql.byKeys(smallInputs, nosOf(quiet));
  const small = new Set(rows.map(([no]) => no as number));
  return joined(
    sql,
    quiet.filter(({ no }) => small.has(no)),
    rows,
  );
}

/** Those that have one. */
export async function titles(sql: Sql, nos: readonly number[]): Promise<Map<number, string>> {
  const rows = await sql.byKeys(titlesOnly, nos);
  return new Map(rows.flatMap(([no, title]) => (typeof title === 'string' ? [[no as number, title]] : [])));
}

const headingsOnly = byNumber(
  `select job_no, title, case when octet_length(meta) <= ${LIMITS.slotMetadataBytes} then meta end from job_input`,
  'job_no',
);

/** What stands over each: its title, and its meta where that is small. */
export async function headings(
  sql: Sql,
  nos: readonly number[],
): Promise<Map<number, { readonly title: string | null; readonly meta: string | null }>> {
  const rows = (await lookUp(sql, headingsOnly, nos)) as [no: number, title: string, meta: string][];
  return new Map(rows.map(([no, title, meta]) => [no, { title, meta }]));
}

const tagsOnly = byNumber('select job_no, tags from job_input', 'job_no', 'and tags is not null');

/** Those that have any. */
export async function tags(sql: Sql, nos: readonly number[]): Promise<Map<number, string[]>> {
  const rows = await sql.byKeys(tagsOnly, nos);
  return new Map(rows.map(([no, list]) => [no as number, JSON.parse(list as string) as string[]]));
}

/** About how many bytes there are to show of each, without reading them. */
export async function sizes(sql: Sql, jobs: readonly Job[]): Promise<Map<number, number>> {
  const read = await sql.byKeys(inputSizes, nosOf(jobs));
  const said = numbers(await lookUp(sql, commentSizes, nosOf(jobs.filter((job) => job.comments > 0))));
  const bytes = numbers(read);
  return new Map(
    jobs.map(({ no, progress }) => [
      no,
      SHOWN_ALWAYS_BYTES + (bytes.get(no) ?? 0) + (said.get(no) ?? 0) + (progress?.length ?? 0),
    ]),
  );
}

function numbers(rows: readonly Row[]): Map<number, number> {
  return new Map(rows.map((row) => [row[0] as number, Number(row[1])]));
}

function nosOf(jobs: readonly Job[]): number[] {
  return jobs.map((job) => job.no);
}

async function joined(
  sql: Sql,
  jobs: readonly Job[],
  inputRows: readonly Row[],
): Promise<Map<number, JobDetails>> {
  const rows = new Map(inputRows.map((row) => [row[0] as number, row]));
  const said = groupComments(
    await lookUp(
      sql,
      comments,
      jobs.filter((job) => job.comments > 0).map((job) => job.no),
    ),
  );
  const named = pairs(
    await lookUp(
      sql,
      ids,
      jobs.flatMap((job) => [job.retryOf, job.parentNo]).filter((no) => no !== null),
    ),
  );
  const typed = pairs(
    await lookUp(
      sql,
      types,
      jobs.map((job) => job.typeNo).filter((no) => no > 0),
    ),
  );
  return new Map(
    jobs.map((job) => {
      const row = rows.get(job.no) ?? [];
      const details: JobDetails = {
        input: inputFrom(row, 1),
        result: (row[INPUT_WIDTH + 1] ?? null) as string | null,
        error: (row[INPUT_WIDTH + 2] ?? null) as string | null,
        comments: said.get(job.no) ?? [],
        typeName: typed.get(job.typeNo) ?? null,
        retryOfId: job.retryOf === null ? null : (named.get(job.retryOf) ?? null),
        parentId: job.parentNo === null ? null : (named.get(job.parentNo) ?? null),
      };
      return [job.no, details];
    }),
  );
}

/** How those ended that have an outcome. */
export async function outcomes(sql: Sql, jobNos: readonly number[]): Promise<Map<number, Outcome>> {
  return new Map(
    (await lookUp(sql, results, jobNos)).map((row) => [
      row[0] as number,
      { result: row[1] as string | null, error: row[2] as string | null },
    ]),
  );
}

/** How many bytes there are of each of these, without reading them. */
export async function outcomeSizes(sql: Sql, jobNos: readonly number[]): Promise<Map<number, number>> {
  return numbers(await lookUp(sql, resultSizes, jobNos));
}

async function lookUp(sql: Sql, query: KeyQuery, nos: readonly number[]): Promise<Row[]> {
  return nos.length === 0 ? [] : sql.byKeys(query, [...new Set(nos)]);
}

function pairs(rows: readonly Row[]): Map<number, string> {
  return new Map(rows.map((row) => [row[0] as number, row[1] as string]));
}

function groupComments(rows: readonly Row[]): Map<number, JobComment[]> {
  const grouped = new Map<number, JobComment[]>();
  for (const row of rows) {
    const its = grouped.get(row[0] as number) ?? [];
    its.push({ at: row[1] as number, by: row[2] as string, text: row[3] as string });
    grouped.set(row[0] as number, its);
  }
  return grouped;
}
