/** The record of administrative acts. */

import type { Audit } from '../../domain/audit.ts';
import type { Sql } from '../sql/driver.ts';
import { AUDIT } from '../sql/tables.ts';

/** Newest first, from before a number on; null is from the newest. */
export async function before(
  sql: Sql,
  no: number | null,
  limit: number,
): Promise<(Audit & { readonly no: number })[]> {
  const text = `select ${AUDIT.selected} from audit where no < $1 order by no desc limit $2 + 0`;
  return (await sql.all(text, [no ?? Number.MAX_SAFE_INTEGER, limit])).map((row) => AUDIT.from(row));
}
