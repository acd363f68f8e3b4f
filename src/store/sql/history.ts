/**
 * The events of one job. Its row names the commits that tell of them; when these become many they move to rows beside it,
 * and those that come from elsewhere are named there at once.
 */

import type { Job } from '../../domain/job.ts';
import { byNumber, type Shape, type Sql } from './driver.ts';

/** So many events of a job at most are named in its row. Most jobs never have more. */
const NAMED_IN_ROW = 32;

const HISTORY: Shape = {
  table: 'history',
  columns: [
    ['job_no', 'bigint'],
    ['upto', 'bigint'],
    ['commits', 'text'],
  ],
  onConflict: 'on conflict (job_no, upto) do update set commits = history.commits || excluded.commits',
};

/** Has jobs name commits that did not change their rows. Events of a job come in its order. */
export async function nameCommits(
  sql: Sql,
  events: readonly { readonly jobNo: number; readonly seq: number; readonly key: number }[],
): Promise<void> {
  const ofJobs = [...Map.groupBy(events, ({ jobNo }) => jobNo)];
  await sql.insert(
    HISTORY,
    ofJobs.map(([jobNo, its]) => [
      jobNo,
      its.at(-1)?.seq ?? 0,
      [...new Set(its.map(({ key }) => `${key},`))].join(''),
    ]),
  );
}

/** Whether the row names enough commits with this change. */
export function outgrowsRow(before: Job, after: Job): boolean {
  return Math.floor(after.seq / NAMED_IN_ROW) > Math.floor(before.seq / NAMED_IN_ROW);
}

const copy = byNumber(
  'insert into history (job_no, upto, commits) select no, seq, commits from job',
  'no',
  'on conflict (job_no, upto) do update set commits = history.commits || excluded.commits',
);
const clear = byNumber("update job set commits = ''", 'no');

/** Moves what these rows have named so far into rows of its own. */
export async function moveOut(sql: Sql, nos: readonly number[]): Promise<void> {
  if (nos.length > 0) await Promise.all([sql.byKeys(copy, nos), sql.byKeys(clear, nos)]);
}

const firstClaims = byNumber(
  'select job_no, min(at) from event',
  'job_no',
  "and kind = 'job.claimed' group by job_no",
);

/** When each of these jobs was claimed for the first time. */
export async function firstClaimsOf(sql: Sql, jobNos: readonly number[]): Promise<Map<number, number>> {
  const rows = jobNos.length === 0 ? [] : await sql.byKeys(firstClaims, jobNos);
  return new Map(rows.map(([no, at]) => [no as number, at as number]));
}
