/** How many jobs there are, by target and state. */

import type { State } from '../../domain/job.ts';
import type { Sql } from '../sql/driver.ts';

export async function all(sql: Sql): Promise<{ target: string; state: State; n: number }[]> {
  const text =
    'select target, state, sum(n) from counter group by target, state having sum(n) <> 0 order by target, state';
  return (await sql.all(text, [])).map(([target, state, n]) => ({
    target: target as string,
    state: state as State,
    n: Number(n),
  }));
}
