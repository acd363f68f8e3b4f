/** Tokens and the record of administrative acts. */

import type { Audit, StoredToken } from '../store.ts';
import type { Row, Shape, Sql } from './driver.ts';

const TOKEN: Shape = {
  table: 'token',
  columns: [
    ['id', 'text'],
    ['name', 'text'],
    ['role', 'text'],
    ['targets', 'text'],
    ['hash', 'text'],
    ['created_at', 'bigint'],
    ['created_by', 'text'],
  ],
};

export async function addToken(sql: Sql, token: StoredToken): Promise<void> {
  const targets = token.targets === null ? null : JSON.stringify(token.targets);
  await sql.insert(TOKEN, [
    [token.id, token.name, token.role, targets, token.hash, token.createdAt, token.createdBy],
  ]);
  await raiseTokenRevision(sql);
}

/** By id or by name; answers whether there was one to revoke. */
export async function revokeToken(sql: Sql, which: string, at: number, by: string): Promise<boolean> {
  const changed = await sql.run(
    'update token set revoked_at = $2, revoked_by = $3 where (id = $1 or name = $1) and revoked_at is null',
    [which, at, by],
  );
  await raiseTokenRevision(sql);
  return changed > 0;
}

async function raiseTokenRevision(sql: Sql): Promise<void> {
  await sql.run("update revision set value = value + 1 where name = 'tokens'", []);
}

export const TOKEN_COLUMNS = 'id, name, role, targets, hash, created_at, created_by, revoked_at';

export function tokenFrom(row: Row): StoredToken {
  return {
    id: row[0] as string,
    name: row[1] as string,
    role: row[2] as StoredToken['role'],
    targets: row[3] === null ? null : (JSON.parse(row[3] as string) as string[]),
    hash: row[4] as string,
    createdAt: row[5] as number,
    createdBy: row[6] as string,
    revokedAt: row[7] as number | null,
  };
}

const AUDIT: Shape = {
  table: 'audit',
  columns: [
    ['at', 'bigint'],
    ['actor', 'text'],
    ['action', 'text'],
    ['subject', 'text'],
    ['facts', 'text'],
  ],
};

export function addAudit(sql: Sql, entry: Audit) {
  const facts = entry.facts === null ? null : JSON.stringify(entry.facts);
  return sql.insert(AUDIT, [[entry.at, entry.by, entry.action, entry.subject, facts]]);
}

export function dropOldAudit(sql: Sql, before: number, limit: number) {
  return sql.run('delete from audit where no in (select no from audit where at < $1 order by at limit $2)', [
    before,
    limit,
  ]);
}

export const AUDIT_COLUMNS = 'no, at, actor, action, subject, facts';

export function auditFrom(row: Row): Audit & { readonly no: number } {
  return {
    no: row[0] as number,
    at: row[1] as number,
    by: row[2] as string,
    action: row[3] as string,
    subject: row[4] as string,
    facts: row[5] === null ? null : (JSON.parse(row[5] as string) as Record<string, unknown>),
  };
}
