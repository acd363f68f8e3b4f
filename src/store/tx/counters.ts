/** How many jobs there are, by target and state. Each lane counts for itself, so that lanes do not wait for each other. */

import type { State } from '../../domain/job.ts';
import { locking, perDialect, type Shape, type Sql } from '../sql/driver.ts';

const COUNTER: Shape = {
  table: 'counter',
  columns: [
    ['lane', 'text'],
    ['target', 'text'],
    ['state', 'text'],
    ['n', 'bigint'],
  ],
  onConflict: 'on conflict (lane, target, state) do update set n = counter.n + excluded.n',
};

export function add(sql: Sql, lane: string, deltas: readonly { target: string; state: State; by: number }[]) {
  return sql.insert(
    COUNTER,
    deltas.map((delta) => [lane, delta.target, delta.state, delta.by]),
  );
}

const OF_LANES = perDialect((dialect) =>
  dialect === 'sqlite'
    ? 'in (select value from json_each($3))'
    : 'in (select json_array_elements_text($3::json))',
);

/**
 * Drops counts that came to nothing, of so many targets and states at most, and answers of how many. Lanes that count
 * just now are left out and waited for by nobody: what is dropped adds up to nothing by itself, so no sum changes.
 */
export async function dropEmpty(sql: Sql, limit: number): Promise<number> {
  const empty = await sql.all(
    'select target, state from counter group by target, state having sum(n) = 0 limit $1',
    [limit],
  );
  let dropped = 0;
  for (const [target = null, state = null] of empty) {
    const text = `select lane, n from counter where target = $1 and state = $2${locking(sql, 'for update skip locked')}`;
    const rows = await sql.all(text, [target, state]);
    if (rows.length === 0 || rows.reduce((sum, [, n]) => sum + Number(n), 0) !== 0) continue;
    const lanes = JSON.stringify(rows.map(([lane]) => lane));
    await sql.run(`delete from counter where target = $1 and state = $2 and lane ${OF_LANES(sql)}`, [
      target,
      state,
      lanes,
    ]);
    dropped++;
  }
  return dropped;
}
