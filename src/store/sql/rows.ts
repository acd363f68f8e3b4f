/** What is often read: a row or none, or one column. */

import type { Row, Sql, Value } from './driver.ts';

export async function first(sql: Sql, text: string, params: readonly Value[]): Promise<Row | null> {
  return (await sql.all(text, params))[0] ?? null;
}

/** The only value that a statement answers; null when it answers none. The caller vouches for its type. */
export async function only<T extends Value>(sql: Sql, text: string, params: readonly Value[]): Promise<T> {
  return ((await first(sql, text, params))?.[0] ?? null) as T;
}

/** The first column of each row. */
export async function column<T extends Value>(
  sql: Sql,
  text: string,
  params: readonly Value[],
): Promise<T[]> {
  return (await sql.all(text, params)).map((row) => row[0] as T);
}
