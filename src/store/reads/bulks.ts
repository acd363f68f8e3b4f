/** What is done to all jobs that fit a filter. */

import type { Bulk, BulkFilter } from '../../domain/bulk.ts';
import type { Job } from '../../domain/job.ts';
import type { Sql } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';
import { BULK } from '../sql/tables.ts';
import { look, search } from './jobs.ts';

const SELECT = `select ${BULK.selected} from bulk`;

export async function byId(sql: Sql, id: string): Promise<Bulk | null> {
  const row = await first(sql, `${SELECT} where id = $1`, [id]);
  return row && BULK.from(row);
}

/** Newest first. */
export async function list(sql: Sql, limit: number): Promise<Bulk[]> {
  const rows = await sql.all(`${SELECT} order by no desc limit $1 + 0`, [limit]);
  return rows.map((row) => BULK.from(row));
}

export function running(sql: Sql): Promise<number> {
  return only<number>(sql, "select count(*) from bulk where state = 'running'", []);
}

/** Jobs behind `from` that fit, oldest first. A page may be short or empty; where the next begins is null behind the last. */
export async function page(
  sql: Sql,
  { words, ...filter }: BulkFilter,
  from: number,
  limit: number,
): Promise<{ readonly jobs: readonly Job[]; readonly next: number | null }> {
  const wanted = { ...filter, order: 'oldest', from, limit } as const;
  return words === null ? look(sql, wanted) : search(sql, words, wanted);
}
