/** The message that brings a question goes with it. */

import type { Sql } from '../sql/driver.ts';

/** Whoever has not got this message needs it no more: it has run out before its time. */
export async function closeMailOf(sql: Sql, messageId: string, now: number): Promise<void> {
  const closed = await sql.run(
    'update receipt set open = 0, expires_at = $2 where open = 1 and message_no = (select no from message where id = $1)',
    [messageId, now],
  );
  if (closed > 0) await sql.run('update message set expires_at = $2 where id = $1', [messageId, now]);
}
