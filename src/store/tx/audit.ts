/** The record of administrative acts. */

import type { Audit } from '../../domain/audit.ts';
import type { Sql } from '../sql/driver.ts';
import { insertInto } from '../sql/table.ts';
import { AUDIT } from '../sql/tables.ts';

const NEW = AUDIT.unnumbered();

export function add(sql: Sql, entry: Audit) {
  return insertInto(sql, NEW, [entry]);
}

export function dropOld(sql: Sql, before: number, limit: number) {
  return sql.run('delete from audit where no in (select no from audit where at < $1 order by at limit $2)', [
    before,
    limit,
  ]);
}
