/** Slots of workers: who works, and when each was last heard from. There are few; all are read at once. */

import type { WorkerSlot } from '../../domain/worker-slot.ts';
import type { Sql } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';
import { WORKER_SLOT } from '../sql/tables.ts';

export async function all(sql: Sql): Promise<WorkerSlot[]> {
  const rows = await sql.all(`select ${WORKER_SLOT.selected} from worker_slot order by slot`, []);
  return rows.map((row) => WORKER_SLOT.from(row));
}

export async function bySlot(sql: Sql, slot: string): Promise<WorkerSlot | null> {
  const row = await first(sql, `select ${WORKER_SLOT.selected} from worker_slot where slot = $1`, [slot]);
  return row && WORKER_SLOT.from(row);
}

export function count(sql: Sql): Promise<number> {
  return only<number>(sql, 'select count(*) from worker_slot', []);
}

export function countTakenBy(sql: Sql, name: string): Promise<number> {
  return only<number>(sql, 'select count(*) from worker_slot where taken_by = $1', [name]);
}

/** Those that were not heard from since, and said nothing of an end. */
export async function silentSince(sql: Sql, before: number, limit: number): Promise<WorkerSlot[]> {
  const text = `select ${WORKER_SLOT.selected} from worker_slot
    where status <> 'offline' and last_update < $1 order by last_update limit $2 + 0`;
  return (await sql.all(text, [before, limit])).map((row) => WORKER_SLOT.from(row));
}
