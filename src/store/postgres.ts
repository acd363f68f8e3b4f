/** The store for more than one machine. Any number of servers share it; no leader is needed. */

import { Client } from 'pg';
import type { Clock } from '../domain/ports.ts';
import { migratePostgres } from './migrate.ts';
import { types } from './postgres-connection.ts';
import { translate } from './postgres-errors.ts';
import { PostgresLane } from './postgres-lane.ts';
import type { KnownRow } from './postgres-memory.ts';
import { openWatchedReader, type PostgresReader } from './postgres-reader.ts';
import { REACHABLE } from './postgres-session.ts';
import { PostgresWatch } from './postgres-watch.ts';
import { RowMemory } from './row-memory.ts';
import type { HeartbeatLanes, Reads, Store, Tx } from './store.ts';

export interface PostgresOptions {
  readonly url: string;
  readonly identity: string;
  readonly lanes: number;
  readonly pool: number;
  readonly clock: Clock;
  /** How long to wait for the network is a matter of real time, also where a test moves the clock. */
  readonly netClock?: Clock;
}

export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const client = new Client({ connectionString: options.url, types, ...REACHABLE });
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

/** Connections on which callers are looked up: a row by its key each time. */
const CALLERS_POOL = 2;
const CLOCK_LOOKS = 3;
const DATABASE_CLOCK = 'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint';

class PostgresStore implements Store {
  readonly dialect = 'postgres';
  readonly lanes: number;
  readonly heartbeatLanes: HeartbeatLanes;
  readonly identity: string;
  readonly read: Reads;
  readonly readCallers: Reads;
  readonly #clock: Clock;
  readonly #lanes: PostgresLane[];
  readonly #reader: PostgresReader;
  readonly #callersReader: PostgresReader;
  readonly #watch: PostgresWatch;
  #offsetMs = 0;

  constructor(options: PostgresOptions, identity: string) {
    const { url, clock, netClock = clock } = options;
    this.#clock = clock;
    this.identity = identity;
    this.lanes = options.lanes;
    this.heartbeatLanes = { first: options.lanes, waiting: options.lanes + 1 };
    const memory = new RowMemory<KnownRow>();
    const watch = new PostgresWatch(url, netClock);
    this.#watch = watch;
    const lanes = options.lanes + Object.keys(this.heartbeatLanes).length;
    this.#lanes = Array.from({ length: lanes }, () => new PostgresLane(url, memory, watch));
    this.#reader = openWatchedReader(url, options.pool, watch);
    this.read = this.#reader.read;
    this.#callersReader = openWatchedReader(url, CALLERS_POOL, watch);
    this.readCallers = this.#callersReader.read;
    watch.start();
  }

  trouble(): string | null {
    return this.#watch.isAway ? 'the database does not answer' : null;
  }

  onBack(listener: () => void): void {
    this.#watch.onBack(listener);
  }

  clockOffsetMs(): number {
    return this.#offsetMs;
  }

  /** PostgreSQL sees to its own log. */
  async checkpoint(): Promise<void> {}

  /**
   * Servers agree on the database's clock. Half of the round trip is how wrong a look can be, so the quickest of a few
   * counts: the first may have had to connect.
   */
  async syncClock(): Promise<void> {
    let quickestMs = Infinity;
    let offsetMs = this.#offsetMs;
    for (let look = 0; look < CLOCK_LOOKS; look++) {
      const before = this.#clock.now();
      const { rows } = await this.#reader.query({ text: DATABASE_CLOCK, rowMode: 'array' });
      const tookMs = this.#clock.now() - before;
      if (tookMs >= quickestMs) continue;
      quickestMs = tookMs;
      offsetMs = ((rows[0]?.[0] as number | undefined) ?? before) - Math.round(before + tookMs / 2);
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

  listen(wake: (targets: string[]) => void): Promise<void> {
    return this.#watch.listen(wake);
  }

  async close(): Promise<void> {
    await Promise.allSettled([
      this.#watch.close(),
      this.#reader.close(),
      this.#callersReader.close(),
      ...this.#lanes.map((lane) => lane.close()),
    ]);
  }
}
