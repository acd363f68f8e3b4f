/** A pool of connections that only read. */

import { type ClientBase, Pool, type PoolClient, type QueryArrayConfig, type QueryArrayResult } from 'pg';
import type { Clock } from '../domain/ports.ts';
import { readsOver } from './bind.ts';
import { PostgresConnection, type Queryable, types } from './postgres-connection.ts';
import { translate } from './postgres-errors.ts';
import { backendOf, destroy, REACHABLE, within } from './postgres-session.ts';
import type { Line, PostgresWatch } from './postgres-watch.ts';
import type { Reader } from './store.ts';

export interface PostgresReader extends Reader {
  readonly query: Queryable['query'];
}

const STATEMENT_MS = 30_000;
const CLOSE_MS = 2_000;

function openPool(url: string, connections: number, more: object): Pool {
  const pool = new Pool({
    connectionString: url,
    types,
    max: connections,
    statement_timeout: STATEMENT_MS,
    application_name: 'spine read',
    ...REACHABLE,
    ...more,
  });
  // A connection that breaks while idle is replaced by the pool; the next reader hears of a lasting fault.
  pool.on('error', () => undefined);
  return pool;
}

/** For readers beside a server, who may wait: a statement ends after its time, a dead connection a little later. */
export function openPostgresReader(url: string, connections: number): Reader {
  const pool = openPool(url, connections, {
    query_timeout: STATEMENT_MS + REACHABLE.connectionTimeoutMillis,
  });
  return readerOver(
    (config) => pool.query(config),
    () => pool.end(),
  );
}

/** For a server's own reads, which the watch looks after. */
export function openWatchedReader(url: string, connections: number, watch: PostgresWatch): PostgresReader {
  const lines = new WeakMap<ClientBase, Line>();
  const onConnect = async (client: ClientBase): Promise<void> => {
    // While it is lent, the pool does not listen; whoever asked hears of the fault by the answer.
    client.on('error', () => undefined);
    const line = await lineOf(client, watch);
    lines.set(client, line);
    watch.enter(line);
  };
  const pool = openPool(url, connections, { onConnect });
  pool.on('remove', (client) => {
    const line = lines.get(client);
    if (line !== undefined) watch.leave(line);
  });
  const query: Queryable['query'] = async (config) => {
    watch.check();
    const client = await pool.connect();
    return ask(client, lines.get(client), config, watch.clock);
  };
  return readerOver(query, () => within(watch.clock, CLOSE_MS, pool.end()).catch(() => undefined));
}

async function lineOf(client: ClientBase, watch: PostgresWatch): Promise<Line> {
  const backend = await backendOf(client, watch.clock);
  const cut = (): void => {
    watch.abandon(backend);
    destroy(client);
  };
  return { backend, waitingSince: null, cut };
}

async function ask(
  client: PoolClient,
  line: Line | undefined,
  config: QueryArrayConfig,
  clock: Clock,
): Promise<QueryArrayResult> {
  if (line !== undefined) line.waitingSince = clock.now();
  let failure: Error | undefined;
  try {
    return await client.query(config);
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    if (line !== undefined) line.waitingSince = null;
    client.release(failure);
  }
}

function readerOver(query: Queryable['query'], close: () => Promise<void>): PostgresReader {
  const translated: Queryable['query'] = async (config) => {
    try {
      return await query(config);
    } catch (error) {
      throw translate(error);
    }
  };
  return { query: translated, read: readsOver(new PostgresConnection({ query: translated })), close };
}
