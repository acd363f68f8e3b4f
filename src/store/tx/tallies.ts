/** How many jobs ended how, by the quarter of an hour. Each lane counts for itself, so that lanes do not wait for each other. */

import type { Tally } from '../../domain/tally.ts';
import type { Shape, Sql } from '../sql/driver.ts';

const TALLY: Shape = {
  table: 'tally',
  columns: [
    ['at', 'bigint'],
    ['kind', 'text'],
    ['lane', 'text'],
    ['n', 'bigint'],
  ],
  onConflict: 'on conflict (at, kind, lane) do update set n = tally.n + excluded.n',
};

export function add(sql: Sql, lane: string, at: number, counts: readonly (readonly [Tally, number])[]) {
  return sql.insert(
    TALLY,
    counts.map(([kind, n]) => [at, kind, lane, n]),
  );
}

export function dropOld(sql: Sql, before: number) {
  return sql.run('delete from tally where at < $1', [before]);
}
