/** What only one of all processes that share a PostgreSQL database does at a time. The lock ends with its connection. */

import { Client } from 'pg';
import { translate } from './postgres-errors.ts';
import { REACHABLE } from './postgres-session.ts';

export interface Alone {
  release(): Promise<void>;
}

const TAKE = "select pg_try_advisory_lock(hashtext('spine.' || $1), hashtext(current_schema())) as taken";

/** Null when another process does it now. */
export async function tryAlone(url: string, name: string): Promise<Alone | null> {
  const client = new Client({ connectionString: url, application_name: `spine ${name}`, ...REACHABLE });
  // Whoever lost the lock with the connection finds out no sooner than the others.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ taken: boolean }>(TAKE, [name]);
    if (rows[0]?.taken === true) return { release: () => client.end() };
  } catch (error) {
    await client.end().catch(() => undefined);
    throw translate(error);
  }
  await client.end();
  return null;
}
