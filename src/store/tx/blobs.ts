/** The records of artifacts. */

import type { Blob } from '../../domain/blob.ts';
import type { Sql } from '../sql/driver.ts';
import { insertInto } from '../sql/table.ts';
import { BLOB } from '../sql/tables.ts';

export function add(sql: Sql, blob: Blob) {
  return insertInto(sql, BLOB, [blob]);
}
