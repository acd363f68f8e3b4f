/** The bytes of artifacts in PostgreSQL: over connections of their own, so that no upload holds up a command. */

import { Pool } from 'pg';
import type { Clock } from '../domain/ports.ts';
import { types } from './postgres-connection.ts';
import { translate } from './postgres-errors.ts';
import { REACHABLE, within } from './postgres-session.ts';

/** How many pieces are on their way at once. */
const CONNECTIONS = 3;
const STATEMENT_MS = 20_000;
const CLOSE_MS = 2_000;

const ADD = 'insert into piece (name, no, at, bytes) values ($1, $2, $3, $4)';
const PIECE = 'select bytes from piece where name = $1 and no = $2';
// The length stands beside the bytes: none are read.
const SIZE = `select sum(octet_length(bytes))::bigint as bytes from piece where name = $1
  having count(*) = max(no) + 1`;
// From one name to the next along the key: a name has hundreds of pieces.
const NAMES = `with recursive found as (
    (select name from piece where name > $1 and name < $2 order by name limit 1)
    union all
    select (select piece.name from piece where piece.name > found.name and piece.name < $2 order by piece.name limit 1)
    from found where found.name is not null
  ) select name from found where name is not null limit $3`;
const DROP = `delete from piece where name = $1
  and not exists (select 1 from piece as young where young.name = $1 and young.at >= $2) returning no`;

export function openPieces(url: string, clock: Clock) {
  const pool = new Pool({
    connectionString: url,
    types,
    max: CONNECTIONS,
    statement_timeout: STATEMENT_MS,
    query_timeout: STATEMENT_MS + REACHABLE.connectionTimeoutMillis,
    application_name: 'spine artifacts',
    ...REACHABLE,
  });
  // A connection that breaks while idle is replaced by the pool; the next caller hears of a lasting fault.
  pool.on('error', () => undefined);
  const ask = async <Row extends object>(text: string, values: unknown[]): Promise<Row[]> => {
    try {
      return (await pool.query<Row>({ text, values })).rows;
    } catch (error) {
      throw translate(error);
    }
  };
  return {
    async add(name: string, no: number, bytes: Uint8Array, at: number): Promise<void> {
      await ask(ADD, [name, no, at, bytes]);
    },
    async piece(name: string, no: number): Promise<Uint8Array | null> {
      const [found] = await ask<{ bytes: Uint8Array }>(PIECE, [name, no]);
      return found?.bytes ?? null;
    },
    async size(name: string): Promise<number | null> {
      const [found] = await ask<{ bytes: number }>(SIZE, [name]);
      return found?.bytes ?? null;
    },
    async names(after: string, before: string, limit: number): Promise<string[]> {
      return (await ask<{ name: string }>(NAMES, [after, before, limit])).map(({ name }) => name);
    },
    async drop(name: string, before: number): Promise<boolean> {
      return (await ask(DROP, [name, Math.min(before, Number.MAX_SAFE_INTEGER)])).length > 0;
    },
    async close(): Promise<void> {
      await within(clock, CLOSE_MS, pool.end()).catch(() => undefined);
    },
  };
}
