/** The message that brings a question goes with it. */

import type { Sql } from '../sql/driver.ts';

/** Whoever has not got this message needs it no more. */
export async function closeMailOf(sql: Sql, messageId: string): Promise<void> {
  await sql.run(
    'update receipt set open = 0 where open = 1 and message_no = (select no from message where id = $1)',
    [messageId],
  );
}
