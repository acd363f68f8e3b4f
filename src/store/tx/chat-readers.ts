/** Who reads the commands of a chat, and how far. */

import { type Sql, locking, perDialect } from '../sql/driver.ts';

/**
 * Takes the bot for this server, or keeps it; answers until when somebody else has it, null when this one does. Whose name
 * begins like `site` ran where this server runs, and is gone.
 */
export async function take(
  sql: Sql,
  bot: string,
  { reader, site }: { readonly reader: string; readonly site: string },
  now: number,
  until: number,
): Promise<number | null> {
  await sql.run(
    `insert into chat_reader (bot, next_update, heard_at, reader, reader_until) values ($1, 0, 0, null, 0)
     on conflict (bot) do nothing`,
    [bot],
  );
  const taken = await sql.run(
    `update chat_reader set reader = $2, reader_until = $4
     where bot = $1 and (reader_until <= $3 or substr(reader, 1, length($5)) = $5)`,
    [bot, reader, now, until, site],
  );
  if (taken > 0) return null;
  const [row] = await sql.all('select reader_until from chat_reader where bot = $1', [bot]);
  return (row?.[0] as number | undefined) ?? now;
}

/** Lets another server take over at once. */
export function release(sql: Sql, bot: string, reader: string) {
  return sql.run('update chat_reader set reader_until = 0 where bot = $1 and reader = $2', [bot, reader]);
}

const lockRow = perDialect(
  (dialect) =>
    `select next_update, heard_at from chat_reader where bot = $1${locking({ dialect }, 'for update')}`,
);

/** Which update comes next. Whoever does a command holds this row until it is done and counted. */
export async function next(sql: Sql, bot: string): Promise<{ nextUpdate: number; heardAt: number }> {
  const [row] = await sql.all(lockRow(sql), [bot]);
  return {
    nextUpdate: (row?.[0] as number | undefined) ?? 0,
    heardAt: (row?.[1] as number | undefined) ?? 0,
  };
}

export function advance(sql: Sql, bot: string, nextUpdate: number, now: number) {
  return sql.run('update chat_reader set next_update = $2, heard_at = $3 where bot = $1', [
    bot,
    nextUpdate,
    now,
  ]);
}
