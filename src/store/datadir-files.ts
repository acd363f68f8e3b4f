/** Small private files, written so that a power cut leaves the old or the new one. */

import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import path from 'node:path';
import { syncFolderNow } from '../disk/folder.ts';

/** The data dir must not be used as it is; the message is one line that says what to do. */
export class DataDirError extends Error {
  override readonly name = 'DataDirError';
  readonly exitCode = 78;
}

/** Somebody else has it. */
export class DirInUse extends DataDirError {}

/** The files of a data dir that decide whether it may be started. */
export interface Names {
  readonly dir: string;
  readonly db: string;
  readonly id: string;
  /** There while a server has the database open: then its write-ahead log must be there too. */
  readonly open: string;
  /** There while a rebuild replaces the database, which takes several steps. */
  readonly rebuilding: string;
  /** There while a backup is brought back, which takes several steps too. */
  readonly restoring: string;
}

export function writePrivately(file: string, text: string): void {
  const fd = openSync(`${file}.tmp`, 'w', 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(`${file}.tmp`, file);
  syncFolderNow(path.dirname(file));
}

export function readTextIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim() || null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new DataDirError(`${file} cannot be read. Give it to the user who runs Spine (chown, chmod 600).`, {
      cause: error,
    });
  }
}
