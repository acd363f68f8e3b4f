/** Slots of workers: taken, beaten, given up. */

import type { WorkerSlot } from '../../domain/worker-slot.ts';
import { locking, perDialect, type Sql } from '../sql/driver.ts';
import { first } from '../sql/rows.ts';
import { insertInto, type Written } from '../sql/table.ts';
import { WORKER_SLOT } from '../sql/tables.ts';

const locked = perDialect(
  (dialect) =>
    `select ${WORKER_SLOT.selected} from worker_slot where slot = $1${locking({ dialect }, 'for update')}`,
);

/** Two who want one slot come one after the other. */
export async function lock(sql: Sql, slot: string): Promise<WorkerSlot | null> {
  const row = await first(sql, locked(sql), [slot]);
  return row && WORKER_SLOT.from(row);
}

const SAVED: Written<WorkerSlot> = {
  row: WORKER_SLOT.row,
  shape: {
    ...WORKER_SLOT.shape,
    onConflict: `on conflict (slot) do update set ${WORKER_SLOT.shape.columns
      .filter(([name]) => name !== 'slot')
      .map(([name]) => `${name} = excluded.${name}`)
      .join(', ')}`,
  },
};

export async function save(sql: Sql, slot: WorkerSlot): Promise<void> {
  await insertInto(sql, SAVED, [slot]);
}

/** Whether there was one to remove. */
export async function remove(sql: Sql, slot: string): Promise<boolean> {
  return (await sql.run('delete from worker_slot where slot = $1', [slot])) > 0;
}

/** Those that ended long ago. */
export function dropOld(sql: Sql, before: number) {
  return sql.run("delete from worker_slot where status = 'offline' and last_update < $1", [before]);
}
