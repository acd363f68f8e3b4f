/** Calls of models. */

import type { ModelCall } from '../../domain/model-call.ts';
import type { Sql } from '../sql/driver.ts';
import { only } from '../sql/rows.ts';
import { insertInto } from '../sql/table.ts';
import { MODEL_CALL } from '../sql/tables.ts';

const NEW = MODEL_CALL.unnumbered();

export function add(sql: Sql, calls: readonly Omit<ModelCall, 'no'>[]) {
  return insertInto(sql, NEW, calls);
}

/** How many there were. */
export function countSince(sql: Sql, since: number): Promise<number> {
  return only<number>(sql, 'select count(*) from model_call where at > $1', [since]);
}

export function dropOld(sql: Sql, before: number, limit: number) {
  return sql.run(
    'delete from model_call where no in (select no from model_call where at < $1 order by at limit $2 + 0)',
    [before, limit],
  );
}
