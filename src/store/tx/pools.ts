/** Pools are slot rows: whoever runs holds one. Counting instead let 11 run where 3 may. */

import type { Job } from '../../domain/job.ts';
import type { Pool } from '../../domain/pool.ts';
import { locking, perDialect, type Row, type Shape, type Sql } from '../sql/driver.ts';
import { JOB_COLUMNS, jobFrom } from '../sql/job-row.ts';
import { column } from '../sql/rows.ts';

// After a capacity was lowered nothing starts until those that are too many have ended.
const surplusHeld = `
  select 1 from slot surplus join pool on pool.name = surplus.pool
  where surplus.pool = $1 and surplus.idx >= pool.capacity and surplus.job_no is not null`;

const free = perDialect(
  (dialect) =>
    `select idx from slot where pool = $1 and job_no is null and not exists (${surplusHeld})
     order by idx limit $2 + 0${locking({ dialect }, 'for update skip locked')}`,
);

/** Locks up to `count` free slots of a pool; those another server looks at are passed over. */
export function freeSlots(sql: Sql, pool: string, count: number): Promise<number[]> {
  return column<number>(sql, free(sql), [pool, count]);
}

const freeBelow = perDialect(
  (dialect) =>
    `select idx from slot where pool = $1 and idx < $2 and job_no is null
     order by idx limit $3 + 0${locking({ dialect }, 'for update skip locked')}`,
);

/** The slots below `count` that nobody holds, locked; at most `max` of them. They are made at the first look. */
export async function freeGatewaySlots(
  sql: Sql,
  pool: string,
  count: number,
  max: number,
): Promise<number[]> {
  const [last] = await sql.all('select 1 from slot where pool = $1 and idx = $2', [pool, count - 1]);
  if (last === undefined) await makeSlots(sql, pool, count);
  return column<number>(sql, freeBelow(sql), [pool, count, max]);
}

const SLOT: Shape = {
  table: 'slot',
  columns: [
    ['pool', 'text'],
    ['idx', 'bigint'],
  ],
  onConflict: 'on conflict do nothing',
};

/** Makes sure a key's pool has its slots. How many of one key may run is the pool's `per_key`; one when the key stands alone. */
export async function ensureKeySlots(sql: Sql, keyPool: string, pool: string | null): Promise<void> {
  const [row] = pool === null ? [] : await sql.all('select per_key from pool where name = $1', [pool]);
  const perKey = (row?.[0] as number | undefined) ?? 1;
  await makeSlots(sql, keyPool, perKey);
  await dropFreeFrom(sql, keyPool, perKey);
}

/** Slots beyond a lowered number. */
async function dropFreeFrom(sql: Sql, pool: string, idx: number): Promise<void> {
  await sql.run('delete from slot where pool = $1 and idx >= $2 and job_no is null', [pool, idx]);
}

async function makeSlots(sql: Sql, pool: string, count: number): Promise<void> {
  await sql.insert(
    SLOT,
    Array.from({ length: count }, (_, idx): Row => [pool, idx]),
  );
}

export async function takeSlots(
  sql: Sql,
  rows: readonly { pool: string; idx: number; jobNo: number }[],
): Promise<void> {
  for (const row of rows)
    await sql.run('update slot set job_no = $3 where pool = $1 and idx = $2', [row.pool, row.idx, row.jobNo]);
}

/** Frees everything the jobs held; answers the pools that got room. A slot beyond a lowered capacity goes when its holder ends. */
export async function releaseSlots(sql: Sql, jobNos: readonly number[]): Promise<string[]> {
  const surplus = 'idx >= (select capacity from pool where pool.name = slot.pool)';
  await sql.byKeys(
    {
      one: `delete from slot where job_no = $1 and ${surplus}`,
      many: `delete from slot where job_no = any($1::bigint[]) and ${surplus}`,
    },
    jobNos,
  );
  const freed = await sql.byKeys(
    {
      one: 'update slot set job_no = null where job_no = $1 returning pool',
      many: 'update slot set job_no = null where job_no = any($1::bigint[]) returning pool',
    },
    jobNos,
  );
  return [...new Set(freed.map((row) => row[0] as string))];
}

// Walks from target to target along job_waiting instead of reading every waiter.
const waitingTargets = `
  with recursive waiting (target) as (
    select min(target) from job where blocked_on = $1
    union all
    select (select min(target) from job where blocked_on = $1 and target > waiting.target)
    from waiting where waiting.target is not null
  )
  select target from waiting where target is not null`;

const waitersOf = perDialect(
  (dialect) => `
    select ${JOB_COLUMNS} from job where blocked_on = $1 and target = $2
    order by priority desc, no limit $3 + 0${locking({ dialect }, 'for update skip locked')}`,
);

/** The best waiters of each target that is blocked on this pool, so many of each, locked. */
export async function bestWaiters(sql: Sql, pool: string, ofEach: number): Promise<Job[]> {
  const targets = await sql.all(waitingTargets, [pool]);
  const rows = await Promise.all(
    targets.map(async ([target = null]) => sql.all(waitersOf(sql), [pool, target, ofEach])),
  );
  return rows.flat().map(jobFrom);
}

export async function save(sql: Sql, pool: Pool, at: number): Promise<void> {
  await sql.run(
    `insert into pool (name, capacity, per_key, updated_at) values ($1, $2, $3, $4)
     on conflict (name) do update set capacity = excluded.capacity, per_key = excluded.per_key, updated_at = excluded.updated_at`,
    [pool.name, pool.capacity, pool.perKey, at],
  );
  await makeSlots(sql, pool.name, pool.capacity);
  await dropFreeFrom(sql, pool.name, pool.capacity);
}

/** Leaves a pool that is there as it is. */
export async function ensure(sql: Sql, pool: Pool, at: number): Promise<void> {
  const made = await sql.run(
    'insert into pool (name, capacity, per_key, updated_at) values ($1, $2, $3, $4) on conflict (name) do nothing',
    [pool.name, pool.capacity, pool.perKey, at],
  );
  if (made > 0) await makeSlots(sql, pool.name, pool.capacity);
}

export async function remove(sql: Sql, name: string): Promise<'deleted' | 'missing' | 'in_use'> {
  const [used] = await sql.all('select 1 from slot where pool = $1 and job_no is not null limit 1', [name]);
  const [open] = await sql.all('select 1 from job where pool = $1 and finished_at is null limit 1', [name]);
  if (used !== undefined || open !== undefined) return 'in_use';
  const changed = await sql.run('delete from pool where name = $1', [name]);
  await sql.run('delete from slot where pool = $1', [name]);
  return changed === 0 ? 'missing' : 'deleted';
}

/** Keys come and go; their free slots are swept so that the table stays small. */
export function dropFreeKeySlots(sql: Sql, limit: number) {
  const text = `
    delete from slot where job_no is null and (pool, idx) in (
      select pool, idx from slot where job_no is null and pool like '%/%'
      and not exists (select 1 from job where job.blocked_on = slot.pool) limit $1 + 0
    )`;
  return sql.run(text, [limit]);
}
