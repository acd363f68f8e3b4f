/** How many jobs there are, by target and state. Each lane counts for itself, so that lanes do not wait for each other. */

import type { State } from '../../domain/job.ts';
import type { Shape, Sql } from '../sql/driver.ts';

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
