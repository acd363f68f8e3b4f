/** One server per data dir. The lock is SQLite's own on a file of its own, so it dies with the process. */

import { chmodSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { DataDirError, DirInUse, readTextIfThere, writePrivately } from './datadir-files.ts';

// Node closes a database that nobody refers to any more, and its lock would go with it.
const held = new Set<DatabaseSync>();

export interface Lock {
  readonly release: () => void;
}

const SERVER = (holder: string): string =>
  `Another Spine server (process ${holder}) uses this data dir. Stop it first, or set another SPINE_DATA_DIR.`;

/** `taken` says what it means when somebody else has it. */
export function takeLock(lockFile: string, pidFile: string, taken = SERVER): Lock {
  const database = hold(lockFile, pidFile, taken);
  chmodSync(lockFile, 0o600);
  writePrivately(pidFile, `${process.pid}\n`);
  held.add(database);
  return {
    release() {
      if (!held.delete(database)) return;
      rmSync(pidFile, { force: true });
      database.close();
    },
  };
}

function hold(lockFile: string, pidFile: string, taken: typeof SERVER): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(lockFile, { timeout: 0 });
    // Nothing is ever written to it, so it needs no journal beside it.
    database.exec('pragma journal_mode = memory; begin exclusive');
    return database;
  } catch (error) {
    database?.close();
    throw refusal(lockFile, pidFile, taken, error);
  }
}

const BUSY = 5;
const NOT_A_DATABASE = 26;

function refusal(lockFile: string, pidFile: string, taken: typeof SERVER, error: unknown): Error {
  const code = (error as { errcode?: number }).errcode;
  if (code === BUSY) return new DirInUse(taken(readTextIfThere(pidFile) ?? 'unknown'));
  if (code === NOT_A_DATABASE)
    return new DataDirError(`${lockFile} is not Spine's lock file. Delete it and start again.`);
  return new DataDirError(
    `${lockFile} cannot be opened. Give the data dir to the user who runs Spine (chown).`,
    { cause: error },
  );
}
