/** Those who log in, the removed ones included. */

import type { User } from '../../domain/user.ts';
import type { Sql } from '../sql/driver.ts';
import { column, first, only } from '../sql/rows.ts';
import { USER } from '../sql/tables.ts';

/** Newest first; there are at most `LIMITS.users` of them. */
export async function all(sql: Sql): Promise<User[]> {
  const rows = await sql.all(
    `select ${USER.selected} from user_account order by created_at desc, id desc`,
    [],
  );
  return rows.map((row) => USER.from(row));
}

export async function byId(sql: Sql, id: string): Promise<User | null> {
  const row = await first(sql, `select ${USER.selected} from user_account where id = $1`, [id]);
  return row && USER.from(row);
}

export async function byEmail(sql: Sql, emailKey: string): Promise<User | null> {
  const row = await first(sql, `select ${USER.selected} from user_account where email_key = $1`, [emailKey]);
  return row && USER.from(row);
}

export async function byNames(
  sql: Sql,
  names: readonly string[],
): Promise<Pick<User, 'id' | 'name' | 'fullName'>[]> {
  const places = names.map((_, i) => `$${i + 1}`).join(', ');
  const rows = await sql.all(`select id, name, full_name from user_account where name in (${places})`, names);
  return rows.map(([id, name, fullName]) => ({
    id: id as string,
    name: name as string,
    fullName: fullName as string,
  }));
}

export function count(sql: Sql): Promise<number> {
  return only<number>(sql, 'select count(*) from user_account', []);
}

/** Under which somebody is known to other doors, whoever it is. */
export function takenNames(sql: Sql): Promise<string[]> {
  return column<string>(
    sql,
    `select name from user_account union select name from token union select id from agent
     union select slot from worker_slot`,
    [],
  );
}

/** Whose refresh token it is, when it has not ended; null when there is none. */
export function byRefreshToken(sql: Sql, id: string, now: number): Promise<string | null> {
  return only<string | null>(sql, 'select user_id from refresh_token where id = $1 and expires_at > $2', [
    id,
    now,
  ]);
}
