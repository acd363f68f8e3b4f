/** The key by which rows name the commit that is being written, before it is. */

import { byNumber, perDialect } from './driver.ts';

/** With one writer it is the next number. On PostgreSQL numbers are drawn late, and a transaction has one of its own. */
export const newCommitKey = perDialect((dialect) =>
  dialect === 'sqlite' ? '(select coalesce(max(no), 0) + 1 from feed_commit)' : 'pg_current_xact_id()::text',
);

/** The key as rows keep it, with the comma behind it: SQLite puts both together once for all rows of a statement. */
export const commitKey = perDialect((dialect) =>
  dialect === 'sqlite'
    ? "(select (coalesce(max(no), 0) + 1) || ',' from feed_commit)"
    : "(pg_current_xact_id()::text || ',')",
);

export const entriesByKey = byNumber('select entries from feed_commit', 'key');
