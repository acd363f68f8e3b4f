/** A connection that only reads, for a thread that must hold up nobody else. */

import { readsOver } from './bind.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import type { Reader } from './store.ts';

// Rows are read once and soon after they were written: a larger cache would only take memory.
const PRAGMAS = 'pragma cache_size = -2048; pragma trusted_schema = off;';

export function openSqliteReader(file: string): Reader {
  const connection = new SqliteConnection(file, { readOnly: true });
  connection.database.exec(PRAGMAS);
  return { read: readsOver(connection), close: async () => connection.database.close() };
}
