/** A lane's connection: pipelined, with plans for batches, and looked after by the watch. */

import { Client } from 'pg';
import { transactionOver } from './bind.ts';
import { PostgresConnection, type Queryable, types } from './postgres-connection.ts';
import { type KnownRow, RememberingTx } from './postgres-memory.ts';
import { backendOf, destroy, endPolitely, PIPELINED, REACHABLE, within } from './postgres-session.ts';
import { WAKE_CHANNEL, wakePayload } from './postgres-wake.ts';
import type { Line, PostgresWatch } from './postgres-watch.ts';
import type { RowMemory } from './row-memory.ts';
import type { MaybePromise, Tx } from './store.ts';

type Send = Queryable['query'];

export interface LaneLine extends Line {
  readonly send: Send;
  readonly remembering: RememberingTx;
  /** Writes that were sent and not waited for yet. */
  readonly deferred: MaybePromise<unknown>[];
  end(): Promise<void>;
}

/** A stalled server must not hold row locks for ever: the database ends its idle transactions. */
const SESSION = {
  idle_in_transaction_session_timeout: 10_000,
  // Shorter than a caller waits.
  lock_timeout: 3_000,
  statement_timeout: 30_000,
  ...REACHABLE,
};

/**
 * A commit's statements find their rows by key. Planned anew for a batch of a thousand keys they would read the whole
 * table instead, so the plan is made once, without looking at the batch, and only from indexes.
 */
const PLANS = `
set plan_cache_mode = force_generic_plan; set jit = off;
set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off`;

export async function connectLine(
  url: string,
  memory: RowMemory<KnownRow>,
  watch: PostgresWatch,
  onLost: () => void,
): Promise<LaneLine> {
  const { clock } = watch;
  const client = new Client({
    connectionString: url,
    types,
    application_name: 'spine',
    ...SESSION,
    ...PIPELINED,
  });
  client.on('error', onLost);
  client.on('end', onLost);
  try {
    await client.connect();
    const backend = await backendOf(client, clock);
    await within(clock, REACHABLE.connectionTimeoutMillis, client.query(PLANS));
    // It may lead to another server than before, e.g. a standby that took over and counts its writers anew.
    memory.forget();
    return lineOver(client, backend, memory, watch);
  } catch (error) {
    destroy(client);
    throw error;
  }
}

function lineOver(
  client: Client,
  backend: Line['backend'],
  memory: RowMemory<KnownRow>,
  watch: PostgresWatch,
): LaneLine {
  const gathered = gathering(client);
  const send: Send = (config) => {
    line.waitingSince = watch.clock.now();
    return gathered(config);
  };
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
  const line: LaneLine = {
    backend,
    waitingSince: null,
    send,
    deferred,
    remembering: new RememberingTx(tx, connection, memory),
    cut: () => {
      watch.leave(line);
      watch.abandon(backend);
      destroy(client);
    },
    end: () => {
      watch.leave(line);
      return endPolitely(client, watch.clock);
    },
  };
  client.on('end', () => watch.leave(line));
  watch.enter(line);
  return line;
}

/** What is sent in one round of the event loop leaves in one piece: the database would wake up for each statement by itself. */
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
