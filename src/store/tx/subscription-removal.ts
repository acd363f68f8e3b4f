/** Subscriptions that go with what they are about. */

import type { Sql } from '../sql/driver.ts';

/** What was to be told of schedules that are gone. */
export async function dropOfSchedules(sql: Sql, ids: readonly string[]): Promise<void> {
  let dropped = 0;
  for (const id of ids) dropped += await sql.run('delete from subscription where schedule_id = $1', [id]);
  if (dropped > 0) await raiseRevision(sql);
}

/** Every change of a subscription does: by the revision other servers know that they must look again. */
export async function raiseRevision(sql: Sql): Promise<void> {
  await sql.run("update revision set value = value + 1 where name = 'subscriptions'", []);
}
