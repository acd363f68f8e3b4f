/** The embedded store: one file, one writer, durable at every commit. */

import { dirname } from 'node:path';
import { SpineError } from '../domain/error.ts';
import { readsOver, transactionOver } from './bind.ts';
import { type Look, rememberByFolder, rememberFiles } from './datadir-watch.ts';
import { migrateSqlite } from './migrate.ts';
import { Mutex, waitingSql } from './mutex.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { RememberingTx } from './sqlite-memory.ts';
import type { Reads, Store, Tx } from './store.ts';

export interface SqliteOptions {
  /** A path, or ':memory:' for tests. */
  readonly file: string;
  readonly identity: string;
  /** By it a folder at rest is told from one that has just changed; without it the files are looked at with each commit. */
  readonly wallMs?: () => number;
  /** The disk no longer tells the truth (a failed sync, a deleted file): nothing may be acknowledged any more. */
  readonly onFatal?: (error: Error) => void;
}

// FULL: an acknowledged write survives a power cut. Group commit pays for it.
const PRAGMAS = `
pragma journal_mode = wal;
pragma synchronous = full;
pragma foreign_keys = on;
pragma cache_size = -8192;
pragma temp_store = memory;
pragma wal_autocheckpoint = 4000;
pragma journal_size_limit = 67108864;
pragma trusted_schema = off;
`;

/** Moves the log into the database as far as no reader needs it, and waits for none. */
const CHECKPOINT = 'pragma wal_checkpoint(passive)';

export function openSqlite(options: SqliteOptions): Store {
  const writer = new SqliteConnection(options.file);
  writer.database.exec(PRAGMAS);
  migrateSqlite(writer);
  const [known] = writer.all("select value from meta where name = 'identity'", []);
  if (known === undefined)
    writer.run("insert into meta (name, value) values ('identity', $1)", [options.identity]);
  return new SqliteStore(writer, options, (known?.[0] as string | undefined) ?? options.identity);
}

class SqliteStore implements Store {
  readonly dialect = 'sqlite';
  readonly lanes = 1;
  readonly heartbeatLanes = null;
  readonly identity: string;
  readonly read: Reads;
  readonly readCallers: Reads;
  readonly #writer: SqliteConnection;
  readonly #reader: SqliteConnection | null;
  readonly #remembering: RememberingTx;
  readonly #mutex = new Mutex();
  readonly #deferred: unknown[] = [];
  readonly #options: SqliteOptions;
  /** SQLite goes on writing to a file that was deleted. */
  readonly #look: Look;

  constructor(writer: SqliteConnection, options: SqliteOptions, identity: string) {
    this.#writer = writer;
    this.#options = options;
    this.identity = identity;
    // A second connection reads only what is committed, also while a commit is under way.
    const inMemory = options.file === ':memory:';
    this.#reader = inMemory ? null : new SqliteConnection(options.file, { readOnly: true });
    this.#reader?.database.exec('pragma cache_size = -16384; pragma trusted_schema = off;');
    this.#look = inMemory ? () => null : lookAt(options);
    this.read = readsOver(this.#reader ?? waitingSql(writer, this.#mutex));
    this.readCallers = this.read;
    const tx = transactionOver(writer, {
      // Waiters live in this very process: there is nobody else to tell.
      notify: () => undefined,
      defer: (write) => void this.#deferred.push(write),
    });
    this.#remembering = new RememberingTx(tx);
  }

  clockOffsetMs(): number {
    return 0;
  }

  async syncClock(): Promise<void> {}

  transaction<T>(_lane: number, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#mutex.hold(async () => {
      const database = this.#writer.database;
      try {
        database.exec('begin immediate');
        const value = await work(this.#remembering.tx);
        await Promise.all(this.#deferred.splice(0));
        database.exec('commit');
        this.#remembering.ended(true);
        this.#mustBeThere();
        return value;
      } catch (error) {
        this.#deferred.length = 0;
        this.#remembering.ended(false);
        // On a full disk SQLite has rolled back by itself; a second rollback would hide the cause.
        if (database.isTransaction) database.exec('rollback');
        throw this.#translate(error);
      }
    });
  }

  checkpoint(): Promise<void> {
    return this.#mutex.hold(async () => {
      try {
        this.#writer.database.exec(CHECKPOINT);
      } catch (error) {
        throw this.#translate(error);
      }
    });
  }

  trouble(): string | null {
    return null;
  }

  onBack(): void {}

  async listen(): Promise<void> {}

  async close(): Promise<void> {
    await this.#mutex.hold(async () => {
      // No statistics are left for the planner: those of a small database would have it read a large one from end to end.
      this.#reader?.database.close();
      // Whoever closes last does this by itself, but another process may be reading, a backup perhaps.
      try {
        this.#writer.database.exec(CHECKPOINT);
      } catch {
        // What cannot be moved stays in the log, where the next start finds it.
      }
      this.#writer.database.close();
    });
  }

  /** A commit into a file that is no longer in its place is never acknowledged. */
  #mustBeThere(): void {
    const cause = this.#look();
    if (cause === null) return;
    this.#options.onFatal?.(cause);
    throw new SpineError('store_unavailable', {}, { cause });
  }

  #translate(error: unknown): unknown {
    const code = sqliteCode(error);
    if (code === null) return error;
    const cause = { cause: error };
    if (code === IOERR_FSYNC || code === IOERR_DIR_FSYNC) {
      this.#options.onFatal?.(error as Error);
      // What was written before the sync may be found again at the next start, or not.
      return new SpineError('outcome_unknown', {}, cause);
    }
    const primary = code & 0xff;
    if (primary === FULL) return new SpineError('disk_full', {}, cause);
    if (primary === BUSY || primary === IOERR || primary === READONLY || primary === CANTOPEN) {
      return new SpineError('store_unavailable', {}, cause);
    }
    return error;
  }
}

function lookAt({ file, wallMs }: SqliteOptions): Look {
  const files = [file, `${file}-wal`];
  return wallMs === undefined ? rememberFiles(files) : rememberByFolder(dirname(file), files, wallMs);
}

const BUSY = 5;
const READONLY = 8;
const IOERR = 10;
const FULL = 13;
const CANTOPEN = 14;
const IOERR_FSYNC = 1034;
const IOERR_DIR_FSYNC = 1290;

function sqliteCode(error: unknown): number | null {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'
    ? error.errcode
    : null;
}
