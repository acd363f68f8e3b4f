/** Those who log in, and what they stay logged in by. */

import type { User } from '../../domain/user.ts';
import type { Sql } from '../sql/driver.ts';
import { insertInto } from '../sql/table.ts';
import { USER } from '../sql/tables.ts';

/** The right to give out names: tokens and users share them, so whoever adds one takes turns with all others. */
export async function lockNames(sql: Sql): Promise<void> {
  await sql.run("update revision set value = value + 1 where name = 'tokens'", []);
}

export async function add(sql: Sql, user: User): Promise<void> {
  await insertInto(sql, USER, [user]);
}

/** Everything but its id, its address, its name and when it was there. */
export async function change(sql: Sql, user: User): Promise<void> {
  const { id, fullName, timezone, passwordHash, passwordAt, admin, worker, active } = user;
  await sql.run(
    `update user_account set full_name = $2, timezone = $3, password_hash = $4, password_at = $5, admin = $6,
       worker = $7, active = $8 where id = $1`,
    [id, fullName, timezone, passwordHash, passwordAt, admin ? 1 : 0, worker ? 1 : 0, active ? 1 : 0],
  );
}

/** They were there. Servers may write in any order what they heard; whoever is no user is left out. */
export async function heard(sql: Sql, name: string, at: number): Promise<void> {
  await sql.run(
    'update user_account set last_activity_at = $2 where name = $1 and coalesce(last_activity_at, 0) < $2',
    [name, at],
  );
}

export interface RefreshToken {
  readonly id: string;
  readonly userId: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** Notes the login. Of one user's refresh tokens the newest `keep` stay. */
export async function loggedIn(sql: Sql, token: RefreshToken, keep: number): Promise<void> {
  const { id, userId, createdAt, expiresAt } = token;
  await sql.run('update user_account set last_login_at = $2 where id = $1', [userId, createdAt]);
  await sql.run('insert into refresh_token (id, user_id, created_at, expires_at) values ($1, $2, $3, $4)', [
    id,
    userId,
    createdAt,
    expiresAt,
  ]);
  await sql.run(
    `delete from refresh_token where user_id = $1 and id not in (
       select id from refresh_token where user_id = $1 order by created_at desc, id desc limit $2 + 0)`,
    [userId, keep],
  );
}

export async function dropRefreshToken(sql: Sql, id: string): Promise<void> {
  await sql.run('delete from refresh_token where id = $1', [id]);
}

export async function dropRefreshTokensOf(sql: Sql, userId: string): Promise<void> {
  await sql.run('delete from refresh_token where user_id = $1', [userId]);
}

/** Those that have ended. */
export function dropEndedRefreshTokens(sql: Sql, now: number, limit: number) {
  return sql.run(
    `delete from refresh_token where id in (
       select id from refresh_token where expires_at <= $1 order by expires_at limit $2 + 0)`,
    [now, limit],
  );
}
