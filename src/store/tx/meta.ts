/** What the installation knows of itself, by name. */

import type { Sql } from '../sql/driver.ts';

export async function set(sql: Sql, name: string, value: string): Promise<void> {
  await sql.run(
    'insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
    [name, value],
  );
}

/** Writes a later moment than is there, both in epoch ms; false when it is no later. */
export async function raise(sql: Sql, name: string, value: string): Promise<boolean> {
  const raised = await sql.run(
    `insert into meta (name, value) values ($1, $2)
     on conflict (name) do update set value = excluded.value where meta.value < excluded.value`,
    [name, value],
  );
  return raised > 0;
}

/** Writes it unless it is there. */
export async function keep(sql: Sql, name: string, value: string): Promise<void> {
  const text = 'insert into meta (name, value) values ($1, $2) on conflict (name) do nothing';
  await sql.run(text, [name, value]);
}
