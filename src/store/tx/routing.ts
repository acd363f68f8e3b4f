/** What is paused. */

import { BUDGETS } from '../../domain/budget.ts';
import type { Pause, PauseKind } from '../../domain/routing.ts';
import type { Sql } from '../sql/driver.ts';

/** One with an end gives way to a later end, or to none; one of a budget, which ends with the day, to any other. */
export async function pause(sql: Sql, { kind, name, at, by, untilAt }: Pause): Promise<void> {
  const changed = await sql.run(
    `insert into pause (kind, name, at, actor, until_at) values ($1, $2, $3, $4, $5)
     on conflict (kind, name) do update set at = excluded.at, actor = excluded.actor, until_at = excluded.until_at
     where pause.until_at is not null and (excluded.until_at is null or excluded.until_at > pause.until_at)
       or pause.actor = $6 and excluded.actor <> $6`,
    [kind, name, at, by, untilAt, BUDGETS.name],
  );
  if (changed > 0) await raise(sql);
}

export async function resume(sql: Sql, kind: PauseKind, name: string): Promise<void> {
  await sql.run('delete from pause where kind = $1 and name = $2', [kind, name]);
  await raise(sql);
}

async function raise(sql: Sql): Promise<void> {
  await sql.run("update revision set value = value + 1 where name = 'routing'", []);
}
