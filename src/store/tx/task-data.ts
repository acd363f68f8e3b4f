/** What bots collect for their tasks, as it comes in and as it goes. */

import type { DataBatch, ResultFile } from '../../domain/task-data.ts';
import type { Shape, Sql } from '../sql/driver.ts';
import { insertInto } from '../sql/table.ts';
import { DATA_BATCH, RESULT_FILE } from '../sql/tables.ts';

const ITEM: Shape = {
  table: 'task_item',
  columns: [
    ['job_no', 'bigint'],
    ['data_type', 'text'],
    ['external_id', 'text'],
  ],
  onConflict: 'on conflict do nothing',
};

const TICKER: Shape = {
  table: 'task_ticker',
  columns: [
    ['job_no', 'bigint'],
    ['ticker', 'text'],
    ['key', 'text'],
  ],
};

/** Whoever calls has locked the job. */
export function addItems(sql: Sql, jobNo: number, dataType: string, externalIds: readonly string[]) {
  return sql.insert(
    ITEM,
    externalIds.map((id) => [jobNo, dataType, id]),
  );
}

/** What the items of a batch are about. Whoever calls has locked the job. */
export function addTickers(sql: Sql, jobNo: number, key: string, tickers: readonly string[]) {
  return sql.insert(
    TICKER,
    tickers.map((ticker) => [jobNo, ticker, key]),
  );
}

/** As one that belongs to no task yet: if nobody comes to record it, its object is removed like all of those. */
export function announceBatch(sql: Sql, batch: DataBatch & { readonly jobNo: null }) {
  return insertInto(sql, DATA_BATCH, [batch]);
}

/** False when it took so long that its object may have been removed. Whoever calls has locked the job. */
export async function recordBatch(sql: Sql, key: string, jobNo: number, now: number): Promise<boolean> {
  const text = 'update task_batch set job_no = $2, uploaded_at = $3 where key = $1 and job_no is null';
  return (await sql.run(text, [key, jobNo, now])) === 1;
}

export function addFile(sql: Sql, file: ResultFile) {
  return insertInto(sql, RESULT_FILE, [file]);
}

/** Their objects could not be removed: others come first now. */
export async function putOff(sql: Sql, keys: readonly string[], now: number): Promise<void> {
  for (const key of keys)
    await sql.run('update task_batch set uploaded_at = $2 where key = $1 and job_no is null', [key, now]);
}

/** Their objects are gone, too. */
export async function drop(sql: Sql, keys: readonly string[]): Promise<void> {
  for (const key of keys) await sql.run('delete from task_batch where key = $1 and job_no is null', [key]);
}
