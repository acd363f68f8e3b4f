/** Tokens. Every change raises their revision, by which other servers know that they must look again. */

import type { Token } from '../../domain/token.ts';
import { locking, type Sql } from '../sql/driver.ts';
import { insertInto } from '../sql/table.ts';
import { TOKEN } from '../sql/tables.ts';

/** Nobody else changes them until the commit. */
export async function lock(sql: Sql): Promise<void> {
  await sql.all(`select value from revision where name = 'tokens'${locking(sql, 'for update')}`, []);
}

export async function add(sql: Sql, token: Token): Promise<void> {
  await insertInto(sql, TOKEN, [token]);
  await raiseRevision(sql);
}

/** By id or by name; answers whether there was one to revoke. */
export async function revoke(sql: Sql, which: string, at: number, by: string): Promise<boolean> {
  const changed = await sql.run(
    'update token set revoked_at = $2, revoked_by = $3 where (id = $1 or name = $1) and revoked_at is null',
    [which, at, by],
  );
  await raiseRevision(sql);
  return changed > 0;
}

async function raiseRevision(sql: Sql): Promise<void> {
  await sql.run("update revision set value = value + 1 where name = 'tokens'", []);
}
