/** The trees of jobs that made jobs. */

import type { Sql } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';

export function count(sql: Sql, parentNo: number): Promise<number> {
  return only<number>(sql, 'select count(*) from job where parent_no = $1', [parentNo]);
}

/** The job at the top of the tree that this one belongs to, and how deep below it this one is. */
export async function treeAbove(sql: Sql, no: number): Promise<{ topNo: number; depth: number }> {
  const text = `
    with recursive line (no, parent_no, depth) as (
      select no, parent_no, 0 from job where no = $1
      union all
      select above.no, above.parent_no, line.depth + 1 from job above join line on above.no = line.parent_no
    )
    select no, depth from line order by depth desc limit 1`;
  const row = await first(sql, text, [no]);
  return { topNo: (row?.[0] ?? no) as number, depth: (row?.[1] ?? 0) as number };
}

/** Everything below a job, ended or not; counting stops beyond `limit`. */
export function countBelow(sql: Sql, no: number, limit: number): Promise<number> {
  const text = `
    with recursive family (no) as (
      select no from job where parent_no = $1
      union all
      select child.no from job child join family on child.parent_no = family.no
    )
    select count(*) from (select no from family limit $2 + 0) counted`;
  return only<number>(sql, text, [no, limit]);
}

const below = (which: string) => `
  with recursive family (no, to_end) as (
    select no, finished_at is null and cancel_requested = 0 from job where parent_no ${which}
    union all
    select child.no, child.finished_at is null and child.cancel_requested = 0
      from job child join family on child.parent_no = family.no
  )
  select no from family where to_end`;
const OPEN_BELOW = { one: below('= $1'), many: below('= any($1::bigint[])') };

/**
 * All below these jobs that nobody has asked to end. The latest come first: a job waits only for jobs that were there
 * before it, so whoever ends a family in this order, piece by piece, lets nothing of it begin.
 */
export async function openBelow(sql: Sql, nos: readonly number[]): Promise<number[]> {
  const rows = nos.length === 0 ? [] : await sql.byKeys(OPEN_BELOW, nos);
  return [...new Set(rows.map(([no]) => no as number))].toSorted((a, b) => b - a);
}
