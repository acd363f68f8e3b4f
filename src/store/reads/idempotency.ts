/** Keys by which a repeated call is known. */

import type { Idempotency } from '../../domain/command.ts';
import type { Sql } from '../sql/driver.ts';
import { first } from '../sql/rows.ts';

export async function find(
  sql: Sql,
  { principal, key }: Pick<Idempotency, 'principal' | 'key'>,
): Promise<{ bodyHash: string; jobIds: string[] } | null> {
  const text = 'select body_hash, job_ids from idempotency where principal = $1 and key = $2';
  const row = await first(sql, text, [principal, key]);
  return row && { bodyHash: row[0] as string, jobIds: JSON.parse(row[1] as string) as string[] };
}
