/** What is done to all jobs that fit a filter. Its row is locked before any job. */

import type { Bulk } from '../../domain/bulk.ts';
import { locking, perDialect, type Sql } from '../sql/driver.ts';
import { first } from '../sql/rows.ts';
import { insertInto } from '../sql/table.ts';
import { BULK } from '../sql/tables.ts';

const NEW = BULK.unnumbered();
const STEP = BULK.only('no', 'state', 'steppedAt', 'endedAt', 'doneNo', 'changed', 'refused');

export function add(sql: Sql, bulk: Omit<Bulk, 'no'>) {
  return insertInto(sql, NEW, [bulk]);
}

/** How far it is. */
export function save(sql: Sql, bulk: Bulk) {
  return sql.update(STEP.shape, [STEP.row(bulk)]);
}

const named = perDialect(
  (dialect) => `select ${BULK.selected} from bulk where id = $1${locking({ dialect }, 'for update')}`,
);

export async function lock(sql: Sql, id: string): Promise<Bulk | null> {
  const row = await first(sql, named(sql), [id]);
  return row && BULK.from(row);
}

// Served by bulk_running. Two servers take different ones.
const longestAgo = perDialect(
  (dialect) => `select ${BULK.selected} from bulk where state = 'running'
    order by stepped_at, no limit 1${locking({ dialect }, 'for update skip locked')}`,
);

/** The running one that had no step for longest. */
export async function next(sql: Sql): Promise<Bulk | null> {
  const row = await first(sql, longestAgo(sql), []);
  return row && BULK.from(row);
}

export function dropOld(sql: Sql, before: number) {
  return sql.run('delete from bulk where ended_at < $1', [before]);
}
