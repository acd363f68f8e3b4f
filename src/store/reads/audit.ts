/** The record of administrative acts. */

import type { Audit } from '../../domain/audit.ts';
import type { Sql } from '../sql/driver.ts';
import { first } from '../sql/rows.ts';
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

/** Whether such an entry was made since then. Served by audit_by_age. */
export async function has(sql: Sql, action: string, subject: string, since: number): Promise<boolean> {
  const text = 'select 1 from audit where at > $1 and action = $2 and subject = $3 limit 1';
  return (await first(sql, text, [since, action, subject])) !== null;
}
