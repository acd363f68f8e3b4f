/** Opens the store that the settings ask for, and the files beside it. */

import type { Config } from '../config.ts';
import type { Clock, Ids } from '../domain/ports.ts';
import { systemClock, systemTime } from '../runtime/clock.ts';
import { type DataDir, openDataDir } from '../store/datadir.ts';
import type { Look } from '../store/datadir-watch.ts';
import { openSqlite } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';

/** Where another thread finds the same database. */
export type DatabaseLocation = { readonly sqliteFile: string } | { readonly postgresUrl: string };

export interface Storage {
  readonly store: Store;
  readonly database: DatabaseLocation;
  /** Only an embedded installation owns its data dir alone. */
  readonly dataDir: DataDir | null;
  /** Says when the data dir is no longer the one that was opened. */
  readonly look: Look;
  close(): Promise<void>;
}

export async function openStorage(
  config: Config,
  clock: Clock,
  ids: Ids,
  onFatal: (error: Error) => void,
): Promise<Storage> {
  if (config.databaseUrl !== null) {
    // An embedded server has no use for it.
    const { openPostgres } = await import('../store/postgres.ts');
    const identity = ids.jobId(clock.now());
    const store = await openPostgres({
      url: config.databaseUrl,
      identity,
      lanes: config.pgLanes,
      pool: config.pgPool,
      clock,
      netClock: systemClock(),
    });
    const database = { postgresUrl: config.databaseUrl };
    const close = once(() => store.close());
    return { store, database, dataDir: null, look: () => null, close };
  }
  const dataDir = openDataDir(config.dataDir, { random: () => ids.jobId(clock.now()) });
  try {
    const { dbFile: file, identity } = dataDir;
    const store = openSqlite({ file, identity, wallMs: () => systemTime.wallMs(), onFatal });
    const look = dataDir.opened();
    const close = once(async () => {
      dataDir.closing();
      await store.close();
      dataDir.release();
    });
    return { store, database: { sqliteFile: dataDir.dbFile }, dataDir, look, close };
  } catch (error) {
    dataDir.release();
    throw error;
  }
}

/** A start that fails half-way may close what it had opened more than once. */
function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | null = null;
  return () => (closing ??= close());
}
