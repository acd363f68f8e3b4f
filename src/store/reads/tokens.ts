/** Tokens, those that were revoked included. */

import type { Token } from '../../domain/token.ts';
import type { Sql } from '../sql/driver.ts';
import { only } from '../sql/rows.ts';
import { TOKEN } from '../sql/tables.ts';

export async function all(sql: Sql): Promise<Token[]> {
  const rows = await sql.all(`select ${TOKEN.selected} from token order by created_at, id`, []);
  return rows.map((row) => TOKEN.from(row));
}

/** Rises with every change of the tokens. */
export function revision(sql: Sql): Promise<number> {
  return only<number>(sql, "select value from revision where name = 'tokens'", []);
}
