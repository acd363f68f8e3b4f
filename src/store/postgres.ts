/** The store for more than one machine. Any number of servers share it; no leader is needed. */

import { Client } from 'pg';
import type { Clock } from '../domain/ports.ts';
import { migratePostgres } from './migrate.ts';
import { types } from './postgres-connection.ts';
import { translate } from './postgres-errors.ts';
import { PostgresLane } from './postgres-lane.ts';
import type { KnownRow } from './postgres-memory.ts';
import { openPostgresReader, type PostgresReader } from './postgres-reader.ts';
import { targetsIn, WAKE_CHANNEL } from './postgres-wake.ts';
import { RowMemory } from './row-memory.ts';
import type { Reads, Store, Tx } from './store.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly identity: string;
  readonly lanes: number;
  readonly pool: number;
  readonly clock: Clock;
}

const RELISTEN_MS = 1_000;

export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const client = new Client({ connectionString: options.url, types, connectionTimeoutMillis: 5_000 });
  // A connection that breaks between two statements has nobody else to tell; the next statement fails.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await migratePostgres(client);
    await client.query("insert into meta (name, value) values ('identity', $1) on conflict do nothing", [
      options.identity,
    ]);
    const known = await client.query<{ value: string }>("select value from meta where name = 'identity'");
    const store = new PostgresStore(options, known.rows[0]?.value ?? options.identity);
    await store.syncClock();
    return store;
  } finally {
    await client.end();
  }
}

const CLOCK_LOOKS = 3;

class PostgresStore implements Store {
  readonly dialect = 'postgres';
  readonly lanes: number;
  readonly identity: string;
  readonly read: Reads;
  readonly #options: PostgresOptions;
  readonly #lanes: PostgresLane[];
  readonly #reader: PostgresReader;
  #listener: Client | null = null;
  #offsetMs = 0;
  #closed = false;

  constructor(options: PostgresOptions, identity: string) {
    this.#options = options;
    this.identity = identity;
    this.lanes = options.lanes;
    const memory = new RowMemory<KnownRow>();
    this.#lanes = Array.from({ length: options.lanes }, () => new PostgresLane(options.url, memory));
    this.#reader = openPostgresReader(options.url, options.pool);
    this.read = this.#reader.read;
  }

  clockOffsetMs(): number {
    return this.#offsetMs;
  }

  /**
   * Servers agree on the database's clock. Half of the round trip is how wrong a look can be, so the quickest of a few
   * counts: the first may have had to connect.
   */
  async syncClock(): Promise<void> {
    let quickestMs = Infinity;
    let offsetMs = this.#offsetMs;
    for (let look = 0; look < CLOCK_LOOKS; look++) {
      const before = this.#options.clock.now();
      const result = await this.#reader.pool.query<{ now: number }>(
        'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now',
      );
      const tookMs = this.#options.clock.now() - before;
      if (tookMs >= quickestMs) continue;
      quickestMs = tookMs;
      offsetMs = (result.rows[0]?.now ?? before) - Math.round(before + tookMs / 2);
    }
    // Only now: a slow look that moved the clock until the next one would date what is created meanwhile.
    this.#offsetMs = offsetMs;
  }

  async transaction<T>(lane: number, work: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      return await (this.#lanes[lane] as PostgresLane).transaction(work);
    } catch (error) {
      throw translate(error);
    }
  }

  async listen(wake: (targets: string[]) => void): Promise<void> {
    if (this.#closed) return;
    const client = new Client({
      connectionString: this.#options.url,
      connectionTimeoutMillis: 5_000,
      application_name: 'spine listen',
    });
    this.#listener = client;
    let retried = false;
    const again = (): void => {
      if (retried || this.#closed) return;
      retried = true;
      this.#options.clock.after(RELISTEN_MS, () => void this.listen(wake));
    };
    client.on('error', again);
    client.on('end', again);
    client.on('notification', ({ payload }) => {
      const targets = targetsIn(payload);
      if (targets !== null) wake(targets);
    });
    try {
      await client.connect();
      await client.query(`listen ${WAKE_CHANNEL}`);
    } catch {
      again();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled([
      this.#listener?.end(),
      this.#reader.close(),
      ...this.#lanes.map((lane) => lane.close()),
    ]);
  }
}
