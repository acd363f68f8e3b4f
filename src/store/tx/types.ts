/** The types of jobs. */

import type { JobType, NewType } from '../../domain/job-type.ts';
import type { Sql } from '../sql/driver.ts';
import { raiseSequence } from '../sql/sequence.ts';
import { insertInto, type Written } from '../sql/table.ts';
import { TYPE } from '../sql/tables.ts';

/** What whoever saves a type says of it. */
const SAID = [
  'label',
  'sop',
  'params_schema',
  'max_retries',
  'backoff_ms',
  'scoring',
  'provider',
  'declared',
  'updated_at',
];

export async function save(sql: Sql, type: NewType, at: number): Promise<JobType> {
  const { name, label, sop, paramsSchema, maxRetries, backoffMs, scoring, provider, onlyIfMissing } = type;
  const update = onlyIfMissing
    ? 'name = excluded.name'
    : `active = 1, ${SAID.map((column) => `${column} = excluded.${column}`).join(', ')}`;
  const [row] = await sql.all(
    `insert into job_type (name, active, created_at, ${SAID.join(', ')})
     values ($1, 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (name) do update set ${update} returning ${TYPE.selected}`,
    [
      name,
      at,
      label,
      sop,
      paramsSchema,
      maxRetries,
      backoffMs,
      scoring === null ? null : JSON.stringify(scoring),
      provider,
      onlyIfMissing ? 0 : 1,
      at,
    ],
  );
  // A pause may have been waiting for a type of this name, and other servers keep lists of types.
  await sql.run("update revision set value = value + 1 where name = 'routing'", []);
  return TYPE.from(row ?? []);
}

/** The right to declare one: whoever does takes turns with all others. */
export async function lockNames(sql: Sql): Promise<void> {
  await sql.run("update revision set value = value + 1 where name = 'routing'", []);
}

/** Its name stays taken; null when there is no such type, or no more. */
export async function retire(sql: Sql, name: string, at: number): Promise<JobType | null> {
  await lockNames(sql);
  const [row] = await sql.all(
    `update job_type set active = 0, updated_at = $2 where name = $1 and active = 1 returning ${TYPE.selected}`,
    [name, at],
  );
  return row === undefined ? null : TYPE.from(row);
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
