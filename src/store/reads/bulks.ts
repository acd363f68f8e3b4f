/** What is done to all jobs that fit a filter. */

import type { Bulk, BulkFilter } from '../../domain/bulk.ts';
import type { Job } from '../../domain/job.ts';
import type { Sql } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';
import { BULK } from '../sql/tables.ts';
import { list as listJobs, search } from './jobs.ts';

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

/** The jobs behind `from` that fit, oldest first, and behind which the next page begins; null when there is none. */
export async function page(
  sql: Sql,
  { words, ...filter }: BulkFilter,
  from: number,
  limit: number,
): Promise<{ readonly jobs: readonly Job[]; readonly next: number | null }> {
  const wanted = { ...filter, order: 'oldest', from, limit } as const;
  if (words !== null) return search(sql, words, wanted);
  const jobs = await listJobs(sql, wanted);
  return { jobs, next: jobs.length === limit ? (jobs.at(-1)?.no ?? null) : null };
}
