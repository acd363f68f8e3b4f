/** The types of jobs. */

import type { JobType, NewType } from '../../domain/job-type.ts';
import type { Sql } from '../sql/driver.ts';
import { raiseSequence } from '../sql/sequence.ts';
import { insertInto, type Written } from '../sql/table.ts';
import { TYPE } from '../sql/tables.ts';

export async function save(sql: Sql, type: NewType, at: number): Promise<JobType> {
  const update = type.onlyIfMissing
    ? 'name = excluded.name'
    : 'label = excluded.label, sop = excluded.sop, params_schema = excluded.params_schema, max_retries = excluded.max_retries, active = 1, updated_at = excluded.updated_at';
  const [row] = await sql.all(
    `insert into job_type (name, label, sop, params_schema, max_retries, active, created_at, updated_at)
     values ($1, $2, $3, $4, $5, 1, $6, $6)
     on conflict (name) do update set ${update} returning ${TYPE.selected}`,
    [type.name, type.label, type.sop, type.paramsSchema, type.maxRetries, at],
  );
  // A pause may have been waiting for a type of this name, and other servers keep lists of types.
  await sql.run("update revision set value = value + 1 where name = 'routing'", []);
  return TYPE.from(row ?? []);
}

const RAW: Written<JobType> = {
  row: TYPE.row,
  shape: { ...TYPE.shape, onConflict: 'on conflict do nothing' },
};

/** With the number it had: for import and rebuild. */
export async function insertRaw(sql: Sql, type: JobType): Promise<void> {
  await insertInto(sql, RAW, [type]);
  await raiseSequence(sql, 'job_type');
}
