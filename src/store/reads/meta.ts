/** What the installation knows of itself, by name. */

import type { Sql } from '../sql/driver.ts';
import { only } from '../sql/rows.ts';

export function get(sql: Sql, name: string): Promise<string | null> {
  return only<string | null>(sql, 'select value from meta where name = $1', [name]);
}
