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

/** Whoever calls has locked the job. */
export function addItems(sql: Sql, jobNo: number, dataType: string, externalIds: readonly string[]) {
  return sql.insert(
    ITEM,
    externalIds.map((id) => [jobNo, dataType, id]),
  );
}

export function addBatch(sql: Sql, batch: DataBatch) {
  return insertInto(sql, DATA_BATCH, [batch]);
}

export function addFile(sql: Sql, file: ResultFile) {
  return insertInto(sql, RESULT_FILE, [file]);
}

/** Their objects are gone, too. */
export async function drop(sql: Sql, keys: readonly string[]): Promise<void> {
  for (const key of keys) await sql.run('delete from task_batch where key = $1 and job_no is null', [key]);
}
