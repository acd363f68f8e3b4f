/** What bots have collected for their tasks. */

import type { DataBatch, DataFilter, ResultFile } from '../../domain/task-data.ts';
import type { Sql, Value } from '../sql/driver.ts';
import { column, first, only } from '../sql/rows.ts';
import { DATA_BATCH, RESULT_FILE } from '../sql/tables.ts';

/** Which of these have come before. */
export function known(
  sql: Sql,
  jobNo: number,
  dataType: string,
  externalIds: readonly string[],
): Promise<string[]> {
  const places = externalIds.map((_, i) => `$${i + 3}`).join(', ');
  return column<string>(
    sql,
    `select external_id from task_item where job_no = $1 and data_type = $2 and external_id in (${places})`,
    [jobNo, dataType, ...externalIds],
  );
}

function where(dataType: string | null, ticker: string | null): { text: string; params: Value[] } {
  const params: Value[] = [];
  let text = 'job_no = $1';
  if (dataType !== null) text += ` and data_type = $${params.push(dataType) + 1}`;
  // Served by the primary key of task_ticker.
  if (ticker !== null)
    text += ` and key in (select key from task_ticker where job_no = $1 and ticker = $${params.push(ticker) + 1})`;
  return { text, params };
}

/** How many items. */
export async function total(
  sql: Sql,
  jobNo: number,
  dataType: string | null,
  ticker: string | null,
): Promise<number> {
  const { text, params } = where(dataType, ticker);
  return Number(
    await only<number | string>(sql, `select coalesce(sum(items), 0) from task_batch where ${text}`, [
      jobNo,
      ...params,
    ]),
  );
}

/** The oldest first. */
export async function list(
  sql: Sql,
  jobNo: number,
  { dataType, ticker, limit, offset }: DataFilter,
): Promise<DataBatch[]> {
  const { text, params } = where(dataType, ticker);
  const rows = await sql.all(
    `select ${DATA_BATCH.selected} from task_batch where ${text} order by uploaded_at, key
     limit $${params.length + 2} + 0 offset $${params.length + 3} + 0`,
    [jobNo, ...params, limit, offset],
  );
  return rows.map((row) => DATA_BATCH.from(row));
}

export async function batch(sql: Sql, jobNo: number, key: string): Promise<DataBatch | null> {
  const text = `select ${DATA_BATCH.selected} from task_batch where key = $2 and job_no = $1`;
  const row = await first(sql, text, [jobNo, key]);
  return row && DATA_BATCH.from(row);
}

/** How many a task has, and how large they are together. Served by task_batch_by_job alone. */
export async function sums(sql: Sql, jobNo: number): Promise<{ batches: number; bytes: number }> {
  const text = 'select count(*), coalesce(sum(size), 0) from task_batch where job_no = $1';
  const [batches, bytes] = (await first(sql, text, [jobNo])) ?? [];
  return { batches: Number(batches), bytes: Number(bytes) };
}

/** A page of all that belong to a task, in the order of their keys. */
export async function batchesAfter(sql: Sql, key: string, limit: number): Promise<DataBatch[]> {
  const text = `select ${DATA_BATCH.selected} from task_batch where key > $1 and job_no is not null
    order by key limit $2 + 0`;
  const rows = await sql.all(text, [key, limit]);
  return rows.map((row) => DATA_BATCH.from(row));
}

/** Objects of tasks that are gone, and those that nobody has recorded by now. */
export function forgotten(sql: Sql, before: number, limit: number): Promise<string[]> {
  const text = `select key from task_batch where job_no is null and uploaded_at <= $1
    order by uploaded_at, key limit $2 + 0`;
  return column<string>(sql, text, [before, limit]);
}

export async function files(sql: Sql, jobNo: number, limit: number, offset: number): Promise<ResultFile[]> {
  const rows = await sql.all(
    `select ${RESULT_FILE.selected} from task_file where job_no = $1 order by created_at, id
     limit $2 + 0 offset $3 + 0`,
    [jobNo, limit, offset],
  );
  return rows.map((row) => RESULT_FILE.from(row));
}

/** A page of the files of all tasks, in the order of their ids. */
export async function filesAfter(sql: Sql, id: string, limit: number): Promise<ResultFile[]> {
  const text = `select ${RESULT_FILE.selected} from task_file where id > $1 order by id limit $2 + 0`;
  const rows = await sql.all(text, [id, limit]);
  return rows.map((row) => RESULT_FILE.from(row));
}

export function fileTotal(sql: Sql, jobNo: number): Promise<number> {
  return only<number>(sql, 'select count(*) from task_file where job_no = $1', [jobNo]);
}

export async function file(sql: Sql, jobNo: number, id: string): Promise<ResultFile | null> {
  const text = `select ${RESULT_FILE.selected} from task_file where id = $2 and job_no = $1`;
  const row = await first(sql, text, [jobNo, id]);
  return row && RESULT_FILE.from(row);
}
