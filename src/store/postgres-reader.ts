/** A pool of connections that only read. */

import { Pool, type QueryArrayConfig, type QueryArrayResult } from 'pg';
import { PostgresConnection, types } from './postgres-connection.ts';
import { translate } from './postgres-errors.ts';
import { readsOver } from './sql/reads.ts';
import type { Reader } from './store.ts';

export interface PostgresReader extends Reader {
  readonly pool: Pool;
}

export function openPostgresReader(url: string, connections: number): PostgresReader {
  const pool = new Pool({
    connectionString: url,
    types,
    max: connections,
    statement_timeout: 30_000,
    connectionTimeoutMillis: 5_000,
    application_name: 'spine read',
  });
  // A connection that breaks while idle is replaced by the pool; the next reader hears of a lasting fault.
  pool.on('error', () => undefined);
  const query = async (config: QueryArrayConfig): Promise<QueryArrayResult> => {
    try {
      return await pool.query(config);
    } catch (error) {
      throw translate(error);
    }
  };
  return { pool, read: readsOver(new PostgresConnection({ query })), close: () => pool.end() };
}
