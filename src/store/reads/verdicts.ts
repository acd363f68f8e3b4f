/** What a model made of failures. */

import type { Decision, Verdict } from '../../domain/verdict.ts';
import type { Sql } from '../sql/driver.ts';
import { first, only } from '../sql/rows.ts';

/** Null when there is none, or it is good no more. */
export async function good(sql: Sql, fingerprint: string, now: number): Promise<Verdict | null> {
  const text = `select decision, words from verdict
    where fingerprint = $1 and wanted_at is null and decision is not null and good_until > $2`;
  const row = await first(sql, text, [fingerprint, now]);
  return row && { decision: row[0] as Decision, words: row[1] as string | null };
}

/** Since when the first of those is wanted that nobody has begun to ask for. */
export function nextUnaskedAt(sql: Sql): Promise<number | null> {
  return only<number | null>(
    sql,
    'select min(wanted_at) from verdict where wanted_at is not null and asks = 0',
    [],
  );
}
