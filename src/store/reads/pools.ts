/** Pools and how full they are. */

import type { PoolUse } from '../../domain/pool.ts';
import type { Sql } from '../sql/driver.ts';
import { column } from '../sql/rows.ts';

export async function all(sql: Sql): Promise<PoolUse[]> {
  const text = `
    select name, capacity, per_key,
      (select count(*) from slot where slot.pool = pool.name and slot.job_no is not null),
      (select count(*) from job where job.blocked_on = pool.name)
    from pool order by name`;
  return (await sql.all(text, [])).map(([name, capacity, perKey, running, waiting]) => ({
    name: name as string,
    capacity: capacity as number,
    perKey: perKey as number,
    running: running as number,
    waiting: waiting as number,
  }));
}

/** Pools that have a free slot and somebody waiting for it. */
export function withRoomAndWaiters(sql: Sql, limit: number): Promise<string[]> {
  const text = `select distinct slot.pool from slot where slot.job_no is null
    and exists (select 1 from job where job.blocked_on = slot.pool) limit $1 + 0`;
  return column<string>(sql, text, [limit]);
}
