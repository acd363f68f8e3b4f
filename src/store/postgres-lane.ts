/** A lane: one connection that runs one transaction after another, and is made anew when it breaks. */

import { Client } from 'pg';
import { PostgresConnection, type Queryable, types } from './postgres-connection.ts';
import { unavailable } from './postgres-errors.ts';
import { type KnownRow, RememberingTx } from './postgres-memory.ts';
import { WAKE_CHANNEL, wakePayload } from './postgres-wake.ts';
import type { RowMemory } from './row-memory.ts';
import { transactionOver } from './sql/tx.ts';
import type { MaybePromise, Tx } from './store.ts';

type Send = Queryable['query'];

interface Line {
  readonly client: Client;
  readonly send: Send;
  readonly remembering: RememberingTx;
  /** Writes that were sent and not waited for yet. */
  readonly deferred: MaybePromise<unknown>[];
}

export class PostgresLane {
  readonly #url: string;
  readonly #memory: RowMemory<KnownRow>;
  #line: Promise<Line> | null = null;

  constructor(url: string, memory: RowMemory<KnownRow>) {
    this.#url = url;
    this.#memory = memory;
  }

  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const line = await this.#connected();
    const { tx } = line.remembering;
    try {
      // The connection is pipelined: nothing here waits for an answer that the next statement does not need.
      tx.defer(line.send({ text: 'begin', rowMode: 'array' }));
      const value = await work(tx);
      const committed = line.send({ text: 'commit', rowMode: 'array' });
      tx.defer(committed);
      await Promise.all(line.deferred.splice(0));
      if ((await committed).command !== 'COMMIT')
        throw new Error('the transaction was rolled back by the database');
      line.remembering.ended(true);
      return value;
    } catch (error) {
      line.remembering.ended(false);
      line.deferred.length = 0;
      await this.#recover(line, error);
      throw error;
    }
  }

  async close(): Promise<void> {
    const line = await this.#line?.catch(() => null);
    this.#line = null;
    await line?.client.end();
  }

  #connected(): Promise<Line> {
    this.#line ??= connect(this.#url, this.#memory, () => {
      this.#line = null;
    }).catch((error: unknown) => {
      this.#line = null;
      throw error;
    });
    return this.#line;
  }

  /** A connection whose state is unknown is thrown away: the server rolls back what it had begun. */
  async #recover(line: Line, error: unknown): Promise<void> {
    const broken =
      unavailable(error) ||
      !(await line.client.query('rollback').then(
        () => true,
        () => false,
      ));
    if (!broken) return;
    this.#line = null;
    line.client.end().catch(() => undefined);
  }
}

/** A stalled server must not hold row locks for ever: the database ends its idle transactions. */
const SESSION = {
  idle_in_transaction_session_timeout: 10_000,
  lock_timeout: 5_000,
  statement_timeout: 30_000,
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
};

/**
 * A flush's statements find their rows by key. Planned anew for a batch of a thousand keys they would read the whole
 * table instead, so the plan is made once, without looking at the batch, and only from indexes.
 */
const PLANS = `
set plan_cache_mode = force_generic_plan; set jit = off;
set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off`;

/** The driver's types do not know this option yet. */
const PIPELINED = { pipeline: true } as object;

async function connect(url: string, memory: RowMemory<KnownRow>, onLost: () => void): Promise<Line> {
  const client = new Client({
    connectionString: url,
    types,
    application_name: 'spine',
    ...SESSION,
    ...PIPELINED,
  });
  client.on('error', onLost);
  client.on('end', onLost);
  await client.connect();
  await client.query(PLANS);
  // It may lead to another server than before, e.g. a standby that took over and counts its writers anew.
  memory.forget();
  const send = gathering(client);
  const connection = new PostgresConnection({ query: send });
  const notify: Tx['notify'] = async (targets) => {
    await connection.all('select 1 from pg_notify($1, $2)', [WAKE_CHANNEL, wakePayload(targets)]);
  };
  const deferred: MaybePromise<unknown>[] = [];
  const defer: Tx['defer'] = (write) => {
    // A failure is met at the commit; until then nobody may take it for unhandled.
    Promise.resolve(write).catch(() => undefined);
    deferred.push(write);
  };
  const tx = transactionOver(connection, { notify, defer });
  return { client, send, remembering: new RememberingTx(tx, connection, memory), deferred };
}

/** What is sent in one turn leaves in one piece: the database would wake up for each statement by itself. */
function gathering(client: Client): Send {
  const { stream } = client.connection;
  let held = false;
  return (config) => {
    if (!held) {
      held = true;
      stream.cork();
      process.nextTick(() => {
        held = false;
        stream.uncork();
      });
    }
    return client.query(config);
  };
}
