/** Keys by which a repeated call is known. */

import type { Idempotency } from '../../domain/command.ts';
import { perDialect, type Shape, type Sql } from '../sql/driver.ts';

const IDEMPOTENCY: Shape = {
  table: 'idempotency',
  columns: [
    ['principal', 'text'],
    ['key', 'text'],
    ['body_hash', 'text'],
    ['job_ids', 'text'],
    ['at', 'bigint'],
  ],
};

export function remember(sql: Sql, rows: readonly (Idempotency & { jobIds: string[]; at: number })[]) {
  return sql.insert(
    IDEMPOTENCY,
    rows.map((row) => [row.principal, row.key, row.bodyHash, JSON.stringify(row.jobIds), row.at]),
  );
}

const rowId = perDialect((dialect) => (dialect === 'postgres' ? 'ctid' : 'principal, key'));

export function dropOld(sql: Sql, before: number, limit: number) {
  const id = rowId(sql);
  return sql.run(
    `delete from idempotency where (${id}) in (select ${id} from idempotency where at < $1 order by at limit $2)`,
    [before, limit],
  );
}
