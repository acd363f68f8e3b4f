/** Chains: which schedules hang below which. */

import { LIMITS } from '../../domain/limits.ts';
import type { ScheduleEdge } from '../../domain/schedule.ts';
import type { Row, Sql } from '../sql/driver.ts';
import { column, first } from '../sql/rows.ts';

function edgeFrom([id, parentId, name]: Row): ScheduleEdge {
  return { id: id as string, parentId: parentId as string | null, name: name as string };
}

export async function edges(sql: Sql): Promise<ScheduleEdge[]> {
  return (await sql.all('select id, parent_id, name from schedule order by no', [])).map(edgeFrom);
}

/** Of those that one keeper keeps; served by schedule_managed. */
export async function edgesManagedBy(sql: Sql, keeper: string): Promise<ScheduleEdge[]> {
  const text = 'select id, parent_id, name from schedule where managed_by = $1 order by no';
  return (await sql.all(text, [keeper])).map(edgeFrom);
}

// `union` ends a circle, should one ever be there.
const above = `
  with recursive line (id, parent_id) as (
    select id, parent_id from schedule where id = $1
    union select schedule.id, schedule.parent_id from schedule join line on schedule.id = line.parent_id
  )
  select id from line union select id from schedule where parent_id = $1`;
const below = `
  with recursive family (id) as (
    select id from schedule where id = $1
    union select schedule.id from schedule join family on schedule.parent_id = family.id
  )
  select id from family`;

/** The schedules themselves, those above them and their children: all that the end of one of their runs may touch. */
export async function relatives(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const many = above.replaceAll('= $1', '= any($1::text[])');
  const rows = await sql.byKeys({ one: above, many }, ids);
  return [...new Set(rows.map(([id]) => id as string))];
}

/** The schedule and everything below it. */
export function subtree(sql: Sql, id: string): Promise<string[]> {
  return column<string>(sql, below, [id]);
}

const around = `
  with recursive line (id, parent_id, name) as (
    select id, parent_id, name from schedule where id = $2
    union select above.id, above.parent_id, above.name from schedule above join line on above.id = line.parent_id
  ), family (id, parent_id, name) as (
    select id, parent_id, name from schedule where id = $1
    union select child.id, child.parent_id, child.name from schedule child join family on child.parent_id = family.id
  )
  select id, parent_id, name from line union select id, parent_id, name from family
  union select id, parent_id, name from schedule where parent_id = $2`;

/** All that decides whether a schedule may hang below that parent: the parent's line and children, and its own family. */
export async function edgesAround(sql: Sql, id: string, parentId: string): Promise<ScheduleEdge[]> {
  return (await sql.all(around, [id, parentId])).map(edgeFrom);
}

const spawned = `
  with recursive line (id, parent_id, spawned_by, depth) as (
    select id, parent_id, spawned_by, 1 from schedule where id = $1
    union select above.id, above.parent_id, above.spawned_by, line.depth + 1
      from schedule above join line on above.id = line.parent_id where line.depth < $2
  ), top (id) as (
    select id from line order by depth desc limit 1
  ), family (id, spawned_by) as (
    select id, spawned_by from schedule where id = (select id from top)
    union select child.id, child.spawned_by from schedule child join family on child.parent_id = family.id
  )
  select (select count(*) from line where spawned_by is not null), (select count(*) from family where spawned_by is not null)`;

/** How many of a schedule and those above it were spawned, and how many in its whole chain. */
export async function spawnedAround(sql: Sql, id: string): Promise<{ above: number; inChain: number }> {
  const row = await first(sql, spawned, [id, LIMITS.cascade]);
  return { above: row?.[0] as number, inChain: row?.[1] as number };
}
