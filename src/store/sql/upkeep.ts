/** Dependencies, routing, types and housekeeping. */

import type { DependencyOn } from '../../domain/command.ts';
import type { Blob, JobType, NewType, PauseKind } from '../store.ts';
import { perDialect, type Shape, type Sql } from './driver.ts';
import { jobNosOfFlush } from './event-row.ts';
import { TYPE_COLUMNS, typeFrom } from './texts.ts';

const DEPENDENCY: Shape = {
  table: 'dependency',
  columns: [
    ['job_no', 'bigint'],
    ['parent_no', 'bigint'],
    ['wanted', 'text'],
    ['met', 'smallint'],
  ],
};

export function addDependencies(
  sql: Sql,
  rows: readonly { jobNo: number; parentNo: number; on: DependencyOn; met: boolean }[],
) {
  return sql.insert(
    DEPENDENCY,
    rows.map((row) => [row.jobNo, row.parentNo, row.on, row.met ? 1 : 0]),
  );
}

export async function dependentsOf(sql: Sql, parentNo: number) {
  const text = 'select job_no, wanted from dependency where parent_no = $1 and met = 0 order by job_no';
  return (await sql.all(text, [parentNo])).map((row) => ({
    jobNo: row[0] as number,
    on: row[1] as DependencyOn,
  }));
}

export async function settleDependencies(sql: Sql, parentNo: number): Promise<void> {
  await sql.run('update dependency set met = 1 where parent_no = $1 and met = 0', [parentNo]);
}

export async function setPaused(
  sql: Sql,
  kind: PauseKind,
  name: string,
  paused: boolean,
  at: number,
  by: string,
): Promise<void> {
  if (paused)
    await sql.run(
      'insert into pause (kind, name, at, actor) values ($1, $2, $3, $4) on conflict do nothing',
      [kind, name, at, by],
    );
  else await sql.run('delete from pause where kind = $1 and name = $2', [kind, name]);
  await sql.run("update revision set value = value + 1 where name = 'routing'", []);
}

export async function routingRevision(sql: Sql): Promise<number> {
  const [row] = await sql.all("select value from revision where name = 'routing'", []);
  return row?.[0] as number;
}

export async function saveType(sql: Sql, type: NewType, at: number): Promise<JobType> {
  const update = type.onlyIfMissing
    ? 'name = excluded.name'
    : 'label = excluded.label, sop = excluded.sop, params_schema = excluded.params_schema, active = 1, updated_at = excluded.updated_at';
  const [row] = await sql.all(
    `insert into job_type (name, label, sop, params_schema, active, created_at, updated_at) values ($1, $2, $3, $4, 1, $5, $5)
     on conflict (name) do update set ${update} returning ${TYPE_COLUMNS}`,
    [type.name, type.label, type.sop, type.paramsSchema, at],
  );
  // A pause may have been waiting for a type of this name, and other servers keep lists of types.
  await sql.run("update revision set value = value + 1 where name = 'routing'", []);
  return typeFrom(row ?? []);
}

/** Says that a server is alive; answers when one last said so. */
export async function beat(sql: Sql, name: string, at: number): Promise<number | null> {
  const [row] = await sql.all('select beat_at from alive where name = $1', [name]);
  await sql.run(
    'insert into alive (name, beat_at) values ($1, $2) on conflict (name) do update set beat_at = excluded.beat_at where alive.beat_at < excluded.beat_at',
    [name, at],
  );
  return row === undefined ? null : (row[0] as number);
}

export async function servers(sql: Sql): Promise<{ name: string; beatAt: number }[]> {
  const rows = await sql.all('select name, beat_at from alive', []);
  return rows.map((row) => ({ name: row[0] as string, beatAt: row[1] as number }));
}

export function forgetServers(sql: Sql, before: number) {
  return sql.run("delete from alive where name <> 'server' and beat_at < $1", [before]);
}

export async function keepMeta(sql: Sql, name: string, value: string): Promise<void> {
  await sql.run('insert into meta (name, value) values ($1, $2) on conflict (name) do nothing', [
    name,
    value,
  ]);
}

export async function setMeta(sql: Sql, name: string, value: string): Promise<void> {
  await sql.run(
    'insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
    [name, value],
  );
}

export async function deleteOutbox(sql: Sql, no: number): Promise<void> {
  await sql.run('delete from outbox where no = $1', [no]);
}

export async function postponeOutbox(sql: Sql, no: number, runAt: number, error: string): Promise<void> {
  await sql.run('update outbox set run_at = $2, error = $3 where no = $1', [no, runAt, error]);
}

/** A notice that nobody took for as long as finished jobs are kept tells of a job that is gone. */
export function dropOldOutbox(sql: Sql, before: number, limit: number) {
  return sql.run(
    'delete from outbox where no in (select no from outbox where created_at < $1 order by no limit $2 + 0)',
    [before, limit],
  );
}

const rowId = perDialect((dialect) => (dialect === 'postgres' ? 'ctid' : 'principal, key'));

export function dropOldIdempotency(sql: Sql, before: number, limit: number) {
  const id = rowId(sql);
  return sql.run(
    `delete from idempotency where (${id}) in (select ${id} from idempotency where at < $1 order by at limit $2)`,
    [before, limit],
  );
}

/** The newest flush stays: it keeps numbers from being used twice. */
const dropEmpty = perDialect((dialect) => {
  return `
    delete from flush where no in (
      select no from flush where at < $1 and no < (select max(no) from flush) and not exists (
        select 1 from job where job.no in (${jobNosOfFlush({ dialect })})
      ) order by no limit $2
    )`;
});

export function dropEmptyFlushes(sql: Sql, before: number, limit: number) {
  return sql.run(dropEmpty(sql), [before, limit]);
}

const BLOB: Shape = {
  table: 'blob',
  columns: [
    ['id', 'text'],
    ['filename', 'text'],
    ['size', 'bigint'],
    ['sha256', 'text'],
    ['content_type', 'text'],
    ['job_no', 'bigint'],
    ['created_at', 'bigint'],
    ['created_by', 'text'],
  ],
};

export function saveBlob(sql: Sql, blob: Blob) {
  return sql.insert(BLOB, [
    [
      blob.id,
      blob.filename,
      blob.size,
      blob.sha256,
      blob.contentType,
      blob.jobNo,
      blob.createdAt,
      blob.createdBy,
    ],
  ]);
}
