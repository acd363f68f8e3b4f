/** Chains of schedules. */

import type { Sql } from '../sql/driver.ts';

/**
 * The right to add schedules and to change their parents. Two servers that each add an edge could close a circle
 * together, so they take turns.
 */
export async function lock(sql: Sql): Promise<void> {
  await sql.run("update revision set value = value + 1 where name = 'chains'", []);
}
