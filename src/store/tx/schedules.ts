/** Schedules. */

import type { Schedule } from '../../domain/schedule.ts';
import { type KeyQuery, locking, perDialect, type Sql } from '../sql/driver.ts';
import { raiseSequence } from '../sql/sequence.ts';
import { insertInto, type Written } from '../sql/table.ts';
import { SCHEDULE } from '../sql/tables.ts';
import { dropOfSchedules } from './subscription-removal.ts';

/** The name, the parent and who keeps it are also columns of their own, by which schedules are found. */
function withNames<T extends Pick<Schedule, 'spec'>>({ shape, row }: Written<T>): Written<T> {
  return {
    shape: {
      ...shape,
      columns: [...shape.columns, ['name', 'text'], ['parent_id', 'text'], ['managed_by', 'text']],
    },
    row: (schedule) => {
      const { name, parentId, managedBy } = schedule.spec;
      return [...row(schedule), name, parentId, managedBy];
    },
  };
}

const NEW = withNames(SCHEDULE.unnumbered());
const RAW = withNames<Schedule>(SCHEDULE);
/** What may change after it was made. */
const CHANGING = withNames(
  SCHEDULE.only(
    'no',
    'enabled',
    'spec',
    'nextRunAt',
    'lastRunAt',
    'lastStatus',
    'consecutiveErrors',
    'runCount',
    'updatedAt',
  ),
);

export async function insert(sql: Sql, schedule: Omit<Schedule, 'no'>): Promise<number> {
  const [no] = await sql.insertNumbered(NEW.shape, [NEW.row(schedule)], 'id');
  return no as number;
}

/** With the numbers they had: for a rebuild. */
export async function insertRaw(sql: Sql, schedules: readonly Schedule[]): Promise<void> {
  if (schedules.length === 0) return;
  await insertInto(sql, RAW, schedules);
  await raiseSequence(sql, 'schedule');
}

const locked: KeyQuery = {
  one: `select ${SCHEDULE.selected} from schedule where id = $1`,
  many: `select ${SCHEDULE.selected} from schedule where id = any($1::text[]) order by no for update`,
};

/** Locked in the order of their numbers, always before any of their jobs. */
export async function lock(sql: Sql, ids: readonly string[]): Promise<Schedule[]> {
  return (await sql.byKeys(locked, ids)).map((row) => SCHEDULE.from(row));
}

const lockedByName: KeyQuery = {
  one: `select ${SCHEDULE.selected} from schedule where name = $1 order by no limit 2`,
  many: `select ${SCHEDULE.selected} from schedule where name = any($1::text[]) order by no for update`,
};

/** Those of these names, locked; of a name that several have, at least two. Served by schedule_by_name. */
export async function lockNamed(sql: Sql, names: readonly string[]): Promise<Schedule[]> {
  return (await sql.byKeys(lockedByName, names)).map((row) => SCHEDULE.from(row));
}

const ready = perDialect(
  (dialect) =>
    `select ${SCHEDULE.selected} from schedule where enabled = 1 and next_run_at <= $1
     order by next_run_at limit $2 + 0${locking({ dialect }, 'for update skip locked')}`,
);

/** Enabled ones whose moment has come, locked; those another server looks at are passed over. */
export async function due(sql: Sql, now: number, limit: number): Promise<Schedule[]> {
  return (await sql.all(ready(sql), [now, limit])).map((row) => SCHEDULE.from(row));
}

export function save(sql: Sql, schedules: readonly Schedule[]) {
  return sql.update(
    CHANGING.shape,
    schedules.map((schedule) => CHANGING.row(schedule)),
  );
}

/** Nobody can be told of their runs any more. */
export async function remove(sql: Sql, ids: readonly string[]): Promise<void> {
  await dropOfSchedules(sql, ids);
  await sql.byKeys(
    {
      one: 'delete from schedule where id = $1',
      many: 'delete from schedule where id = any($1::text[])',
    },
    ids,
  );
}
