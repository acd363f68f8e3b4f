/** Schedules. */

import type { Schedule, ScheduleMark, ScheduleStamp } from '../../domain/schedule.ts';
import type { KeyQuery, Sql } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';
import { SCHEDULE } from '../sql/tables.ts';

/** By id or by an unambiguous beginning of one; the schedules that fit. */
export async function byPrefix(sql: Sql, prefix: string, limit: number): Promise<Schedule[]> {
  const text = `select ${SCHEDULE.selected} from schedule where id like $1 order by id limit $2 + 0`;
  return (await sql.all(text, [`${prefix}%`, limit])).map((row) => SCHEDULE.from(row));
}

export async function list(
  sql: Sql,
  filter: { readonly enabled?: boolean; readonly afterNo: number; readonly limit: number },
): Promise<Schedule[]> {
  const enabled = filter.enabled === undefined ? '' : `and enabled = ${filter.enabled ? 1 : 0}`;
  const text = `select ${SCHEDULE.selected} from schedule where no > $1 ${enabled} order by no limit $2 + 0`;
  return (await sql.all(text, [filter.afterNo, filter.limit])).map((row) => SCHEDULE.from(row));
}

/**
 * Differs after every change of any schedule, unless two came in the same millisecond. Costs little, however many there
 * are: served by schedule_by_change, the number's own index, and the smallest one for the count.
 */
export async function mark(sql: Sql): Promise<ScheduleMark> {
  const text = `select (select count(*) from schedule), (select max(no) from schedule), (select max(updated_at) from schedule)`;
  const row = await first(sql, text, []);
  return {
    count: row?.[0] as number,
    lastNo: (row?.[1] ?? 0) as number,
    changedAt: (row?.[2] ?? 0) as number,
  };
}

/** The same schedules without what they say, for whoever only asks which have changed. */
export async function stamps(
  sql: Sql,
  filter: { readonly afterNo: number; readonly limit: number },
): Promise<ScheduleStamp[]> {
  const text = `select no, id, updated_at, enabled, next_run_at, last_run_at, last_status, consecutive_errors
    from schedule where no > $1 order by no limit $2 + 0`;
  return (await sql.all(text, [filter.afterNo, filter.limit])).map(([no, id, updatedAt, ...rest]) => ({
    no: no as number,
    id: id as string,
    updatedAt: updatedAt as number,
    stamp: [updatedAt, ...rest].join(' '),
  }));
}

const named: KeyQuery = {
  one: 'select id, name from schedule where id = $1',
  many: 'select id, name from schedule where id = any($1::text[])',
  listed: 'select id, name from schedule where id in (select value from json_each($1))',
};

/** What these schedules are called, by id. */
export async function names(sql: Sql, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = ids.length === 0 ? [] : await sql.byKeys(named, ids);
  return new Map(rows.map((row) => [row[0] as string, row[1] as string]));
}

/** When the next of them is due. */
export function nextAt(sql: Sql): Promise<number | null> {
  const text = 'select min(next_run_at) from schedule where enabled = 1 and next_run_at is not null';
  return only<number | null>(sql, text, []);
}
