/** What is paused. */

import type { PauseKind } from '../../domain/routing.ts';
import type { Sql } from '../sql/driver.ts';

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
