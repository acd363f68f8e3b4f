/** Jobs that go, with everything that hangs on them. */

import type { KeyQuery, Sql } from '../sql/driver.ts';
import { deleteWords } from '../sql/search.ts';
import { deleteSummaryWords } from '../sql/summary-words.ts';

/** Those that go on from this one go on from nothing. */
export async function orphan(sql: Sql, no: number): Promise<void> {
  await sql.run('update job set retry_of = null where retry_of = $1', [no]);
  await sql.run('update job set parent_no = null where parent_no = $1', [no]);
}

const belongings = [
  'history',
  'job_input',
  'job_result',
  'job_usage',
  'job_tag',
  'comment',
  'job_log',
  'dependency',
  'blob',
  'run',
  'run_prompt',
  'run_summary',
  'approval',
  'subscription',
  'question',
  'checkpoint',
  'consultation',
  'task_item',
  'task_ticker',
  'task_file',
];

const forgetBatches: KeyQuery = {
  one: 'update task_batch set job_no = null where job_no = $1',
  many: 'update task_batch set job_no = null where job_no = any($1::bigint[])',
};

/** Removes jobs with everything that hangs on them. */
export async function remove(sql: Sql, nos: readonly number[]): Promise<void> {
  for (const table of belongings) await deleteByKeys(sql, table, 'job_no', nos);
  // Their objects are removed later; until then the rows say which.
  await sql.byKeys(forgetBatches, nos);
  await deleteWords(sql, nos);
  await deleteSummaryWords(sql, nos);
  await deleteByKeys(sql, 'job', 'no', nos);
}

async function deleteByKeys(sql: Sql, table: string, column: string, nos: readonly number[]): Promise<void> {
  const one = `delete from ${table} where ${column} = $1`;
  await sql.byKeys({ one, many: `delete from ${table} where ${column} = any($1::bigint[])` }, nos);
}
