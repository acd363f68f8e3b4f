/** Schedules and their ticks. */

import { LIMITS } from '../../domain/limits.ts';
import type { Schedule, ScheduleSpec } from '../../domain/schedule.ts';
import type { RunStatus } from '../../domain/words.ts';
import type { ScheduleEdge, ScheduleMark, ScheduleStamp, Tick } from '../types/scheduling.ts';
import { type KeyQuery, locking, perDialect, type Row, type Shape, type Sql } from './driver.ts';

const COLUMNS = [
  ['id', 'text'],
  ['name', 'text'],
  ['enabled', 'smallint'],
  ['parent_id', 'text'],
  ['spec', 'text'],
  ['next_run_at', 'bigint'],
  ['last_run_at', 'bigint'],
  ['last_status', 'text'],
  ['consecutive_errors', 'bigint'],
  ['updated_at', 'bigint'],
  ['created_at', 'bigint'],
  ['created_by', 'text'],
  ['spawned_by', 'text'],
] as const satisfies Shape['columns'];
const SCHEDULE: Shape = { table: 'schedule', columns: COLUMNS };
/** What may change after it was made. */
const CHANGING: Shape = { table: 'schedule', columns: [['no', 'bigint'], ...COLUMNS.slice(1, 10)] };
const SELECTED = ['no', ...COLUMNS.map(([name]) => name)].join(', ');

function scheduleRow(schedule: Omit<Schedule, 'no'>): Row {
  const { spec } = schedule;
  return [
    schedule.id,
    spec.name,
    schedule.enabled ? 1 : 0,
    spec.parentId,
    JSON.stringify(spec),
    schedule.nextRunAt,
    schedule.lastRunAt,
    schedule.lastStatus,
    schedule.consecutiveErrors,
    schedule.updatedAt,
    schedule.createdAt,
    schedule.createdBy,
    schedule.spawnedBy,
  ];
}

function scheduleFrom(row: Row): Schedule {
  return {
    no: row[0] as number,
    id: row[1] as string,
    enabled: row[3] === 1,
    spec: JSON.parse(row[5] as string) as ScheduleSpec,
    nextRunAt: row[6] as number | null,
    lastRunAt: row[7] as number | null,
    lastStatus: row[8] as RunStatus | null,
    consecutiveErrors: row[9] as number,
    updatedAt: row[10] as number,
    createdAt: row[11] as number,
    createdBy: row[12] as string,
    spawnedBy: row[13] as string | null,
  };
}

export async function insertSchedule(sql: Sql, schedule: Omit<Schedule, 'no'>): Promise<number> {
  const [no] = await sql.insertNumbered(SCHEDULE, [scheduleRow(schedule)], 'id');
  return no as number;
}

const RAW: Shape = { table: 'schedule', columns: [['no', 'bigint'], ...COLUMNS] };

export async function insertSchedulesRaw(sql: Sql, schedules: readonly Schedule[]): Promise<void> {
  await sql.insert(
    RAW,
    schedules.map((schedule) => [schedule.no, ...scheduleRow(schedule)]),
  );
  // PostgreSQL draws new numbers from a sequence, which must not meet the ones that were brought along.
  if (sql.dialect === 'postgres' && schedules.length > 0)
    await sql.all(
      "select setval(pg_get_serial_sequence('schedule', 'no'), (select max(no) from schedule))",
      [],
    );
}

const lock: KeyQuery = {
  one: `select ${SELECTED} from schedule where id = $1`,
  many: `select ${SELECTED} from schedule where id = any($1::text[]) order by no for update`,
};

export async function lockSchedules(sql: Sql, ids: readonly string[]): Promise<Schedule[]> {
  return (await sql.byKeys(lock, ids)).map(scheduleFrom);
}

const due = perDialect(
  (dialect) =>
    `select ${SELECTED} from schedule where enabled = 1 and next_run_at <= $1
     order by next_run_at limit $2 + 0${locking({ dialect }, 'for update skip locked')}`,
);

export async function dueSchedules(sql: Sql, now: number, limit: number): Promise<Schedule[]> {
  return (await sql.all(due(sql), [now, limit])).map(scheduleFrom);
}

export function saveSchedules(sql: Sql, schedules: readonly Schedule[]) {
  return sql.update(
    CHANGING,
    schedules.map((schedule) => [schedule.no, ...scheduleRow(schedule).slice(1, 10)]),
  );
}

export async function deleteSchedules(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.byKeys(
    {
      one: 'delete from schedule where id = $1',
      many: 'delete from schedule where id = any($1::text[])',
    },
    ids,
  );
}

/** Two servers that each add an edge could close a circle together, so they take turns. */
export async function lockChains(sql: Sql): Promise<void> {
  await sql.run("update revision set value = value + 1 where name = 'chains'", []);
}

export async function countSchedules(sql: Sql): Promise<number> {
  return (await sql.all('select count(*) from schedule', []))[0]?.[0] as number;
}

export async function scheduleEdges(sql: Sql): Promise<ScheduleEdge[]> {
  const rows = await sql.all('select id, parent_id, name from schedule order by no', []);
  return rows.map(edgeFrom);
}

function edgeFrom(row: Row): ScheduleEdge {
  return { id: row[0] as string, parentId: row[1] as string | null, name: row[2] as string };
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

export async function relativesOf(sql: Sql, ids: readonly string[]): Promise<string[]> {
  const many = above.replaceAll('= $1', '= any($1::text[])');
  const rows = await sql.byKeys({ one: above, many }, ids);
  return [...new Set(rows.map((row) => row[0] as string))];
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

export async function edgesAround(sql: Sql, id: string, parentId: string): Promise<ScheduleEdge[]> {
  return (await sql.all(around, [id, parentId])).map(edgeFrom);
}

const spawnedLine = `
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

export async function spawnedAround(sql: Sql, id: string) {
  const [row] = await sql.all(spawnedLine, [id, LIMITS.cascade]);
  return { above: row?.[0] as number, inChain: row?.[1] as number };
}

export async function subtreeOf(sql: Sql, id: string): Promise<string[]> {
  return (await sql.all(below, [id])).map((row) => row[0] as string);
}

const TICK: Shape = {
  table: 'tick',
  columns: [
    ['schedule_id', 'text'],
    ['at', 'bigint'],
    ['fate', 'text'],
    ['until_at', 'bigint'],
    ['n', 'bigint'],
    ['reason', 'text'],
    ['recorded_at', 'bigint'],
  ],
  onConflict: 'on conflict do nothing',
};

export async function takeTick(sql: Sql, scheduleId: string, at: number, now: number): Promise<boolean> {
  const text = `insert into tick (schedule_id, at, fate, until_at, n, recorded_at) values ($1, $2, 'fired', $2, 1, $3)
    on conflict do nothing`;
  return (await sql.run(text, [scheduleId, at, now])) > 0;
}

export async function nameTick(sql: Sql, scheduleId: string, at: number, jobNo: number): Promise<void> {
  await sql.run('update tick set job_no = $3 where schedule_id = $1 and at = $2', [scheduleId, at, jobNo]);
}

export function addMissed(sql: Sql, rows: readonly Omit<Tick, 'fate' | 'jobNo'>[]) {
  return sql.insert(
    TICK,
    rows.map((row) => [row.scheduleId, row.at, 'missed', row.untilAt, row.n, row.reason, row.recordedAt]),
  );
}

export function dropOldTicks(sql: Sql, before: number, limit: number) {
  const text = `delete from tick where (schedule_id, at) in (
    select schedule_id, at from tick where recorded_at < $1 order by recorded_at limit $2 + 0)`;
  return sql.run(text, [before, limit]);
}

const MISSED = `select at, until_at, n, reason, recorded_at from tick where schedule_id = $1 and fate = 'missed'`;

export async function missedTicks(sql: Sql, scheduleId: string, limit: number): Promise<Tick[]> {
  const rows = await sql.all(`${MISSED} order by at desc limit $2 + 0`, [scheduleId, limit]);
  return rows.map((row) => missedFrom(scheduleId, row));
}

/** Served by the primary key: `after` keeps it from walking the whole history. */
export async function missedBeyond(
  sql: Sql,
  scheduleId: string,
  after: number,
  beyond: number,
): Promise<Tick[]> {
  const rows = await sql.all(`${MISSED} and at > $2 and until_at > $3 order by at`, [
    scheduleId,
    after,
    beyond,
  ]);
  return rows.map((row) => missedFrom(scheduleId, row));
}

export async function dropTick(sql: Sql, scheduleId: string, at: number): Promise<void> {
  await sql.run('delete from tick where schedule_id = $1 and at = $2', [scheduleId, at]);
}

function missedFrom(scheduleId: string, row: Row): Tick {
  return {
    scheduleId,
    fate: 'missed',
    jobNo: null,
    at: row[0] as number,
    untilAt: row[1] as number,
    n: row[2] as number,
    reason: row[3] as string | null,
    recordedAt: row[4] as number,
  };
}

export async function schedulesByPrefix(sql: Sql, prefix: string, limit: number): Promise<Schedule[]> {
  const text = `select ${SELECTED} from schedule where id like $1 order by id limit $2 + 0`;
  return (await sql.all(text, [`${prefix}%`, limit])).map(scheduleFrom);
}

export async function schedules(
  sql: Sql,
  filter: { readonly enabled?: boolean; readonly afterNo: number; readonly limit: number },
): Promise<Schedule[]> {
  const enabled = filter.enabled === undefined ? '' : `and enabled = ${filter.enabled ? 1 : 0}`;
  const text = `select ${SELECTED} from schedule where no > $1 ${enabled} order by no limit $2 + 0`;
  return (await sql.all(text, [filter.afterNo, filter.limit])).map(scheduleFrom);
}

/** Served by schedule_by_change, the number's own index, and the smallest one for the count. */
export async function scheduleMark(sql: Sql): Promise<ScheduleMark> {
  const text = `select (select count(*) from schedule), (select max(no) from schedule), (select max(updated_at) from schedule)`;
  const [row] = await sql.all(text, []);
  return {
    count: row?.[0] as number,
    lastNo: (row?.[1] ?? 0) as number,
    changedAt: (row?.[2] ?? 0) as number,
  };
}

export async function scheduleStamps(
  sql: Sql,
  filter: { readonly afterNo: number; readonly limit: number },
): Promise<ScheduleStamp[]> {
  const text = `select no, id, updated_at, enabled, next_run_at, last_run_at, last_status, consecutive_errors
    from schedule where no > $1 order by no limit $2 + 0`;
  return (await sql.all(text, [filter.afterNo, filter.limit])).map((row) => ({
    no: row[0] as number,
    id: row[1] as string,
    updatedAt: row[2] as number,
    stamp: row.slice(2).join(' '),
  }));
}

export async function nextScheduleAt(sql: Sql): Promise<number | null> {
  const text = 'select min(next_run_at) from schedule where enabled = 1 and next_run_at is not null';
  return (await sql.all(text, []))[0]?.[0] as number | null;
}
