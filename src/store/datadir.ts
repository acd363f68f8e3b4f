/** The data dir of a SQLite installation: made private, held by one server, never started empty by mistake. */

import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { checkDatabase } from './datadir-check.ts';
import { syncFolderNow } from '../disk/folder.ts';
import { DataDirError, type Names, readTextIfThere, writePrivately } from './datadir-files.ts';
import { type Lock, takeLock } from './datadir-lock.ts';
import { type Look, rememberFiles } from './datadir-watch.ts';

export { DataDirError } from './datadir-files.ts';

export const DATA_FOLDERS = ['jobs', 'events', 'blobs', 'journal', 'types'] as const;

export interface DataDir {
  readonly dir: string;
  readonly dbFile: string;
  readonly identity: string;
  /** Nothing was here before: the store is about to make its tables. */
  readonly isNew: boolean;
  /** The server before, if there was one, ended by itself and not by a kill. */
  readonly closedInOrder: boolean;
  /** To be called when the store has been opened: from now on a missing database or log is noticed, by the look too. */
  opened(): Look;
  /** To be called before the store is closed in good order. */
  closing(): void;
  /** Lets another server have the data dir. */
  release(): void;
}

export interface DataDirOptions {
  /** Makes the name of a new installation. */
  readonly random: () => string;
}

/** Throws a DataDirError, one line that says what to do, when the dir must not be used as it is. */
export function openDataDir(dir: string, options: DataDirOptions): DataDir {
  const { names, lock } = enter(dir);
  try {
    const known = readTextIfThere(names.id);
    if (existsSync(names.rebuilding)) {
      throw new DataDirError(`A rebuild of ${names.db} did not finish. Run \`spine rebuild\` again.`);
    }
    if (existsSync(names.restoring)) {
      throw new DataDirError(`A restore into ${dir} did not finish. Run \`spine backup restore\` again.`);
    }
    const found = checkDatabase(names, known);
    const identity = found ?? options.random();
    if (found !== null && known === null) writePrivately(names.id, `${found}\n`);
    if (found === null) makeEmpty(names.db);
    chmodSync(names.db, 0o600);
    return {
      dir,
      dbFile: names.db,
      identity,
      isNew: found === null,
      closedInOrder: !existsSync(names.open),
      ...marks(names, identity),
      release: lock.release,
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

export interface Rebuild {
  readonly dir: string;
  /** The new database is written here, beside the old one. */
  readonly dbFile: string;
  readonly identity: string;
  /** Puts the closed new database in the old one's place and says where the old one went. */
  commit(): string | null;
  /** Lets go of the data dir; without a commit the old database stays as it was. */
  release(): void;
}

/** Prepares a rebuild: works on a data dir that openDataDir refuses. `identity` is what the journal says. */
export function openForRebuild(
  dir: string,
  options: DataDirOptions & { readonly identity: string | null },
): Rebuild {
  const { names, lock } = enter(dir);
  try {
    const identity = readTextIfThere(names.id) ?? options.identity ?? options.random();
    const dbFile = `${names.db}.new`;
    for (const suffix of DB_SUFFIXES) rmSync(dbFile + suffix, { force: true });
    makeEmpty(dbFile);
    return { dir, dbFile, identity, commit: () => swapIn(names, dbFile, identity), release: lock.release };
  } catch (error) {
    lock.release();
    throw error;
  }
}

export const DB_SUFFIXES = ['', '-wal', '-shm'] as const;

/** Makes the data dir private and takes its lock. */
export function enter(dir: string): { names: Names; lock: Lock } {
  makePrivate(dir);
  const inside = (name: string): string => path.join(dir, name);
  const lock = takeLock(inside('spine.lock'), inside('spine.pid'));
  try {
    for (const folder of DATA_FOLDERS) mkdirSync(inside(folder), { recursive: true, mode: 0o700 });
  } catch (error) {
    lock.release();
    throw new DataDirError(`${dir} cannot be written to. Make it yours (chown), or set SPINE_DATA_DIR.`, {
      cause: error,
    });
  }
  const names = {
    dir,
    db: inside('spine.db'),
    id: inside('spine.id'),
    open: inside('spine.open'),
    rebuilding: inside('spine.rebuilding'),
    restoring: inside('spine.restoring'),
  };
  return { names, lock };
}

function makePrivate(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new DataDirError(`${dir} cannot be made. Check the folder above it, or set SPINE_DATA_DIR.`, {
      cause: error,
    });
  }
  const me = process.getuid?.();
  // On Windows a folder has no owner's number and no mode to judge by.
  if (me === undefined) return;
  const link = lstatSync(dir);
  const real = statSync(dir);
  if (link.isSymbolicLink() && (link.uid !== me || real.uid !== me)) {
    throw new DataDirError(
      `${dir} is a link of or to somebody else (${realpathSync(dir)}). Set SPINE_DATA_DIR to a folder of your own.`,
    );
  }
  if ((real.mode & 0o002) !== 0)
    throw new DataDirError(
      `${dir} can be written by everybody. Run \`chmod 700 ${dir}\` and look whether its files are yours.`,
    );
  if (real.uid !== me && me !== 0)
    throw new DataDirError(`${dir} belongs to another user. Run Spine as that user, or set SPINE_DATA_DIR.`);
  chmodSync(dir, 0o700);
}

/** SQLite gives its log the mode of the database, so an empty private file is there before it. */
function makeEmpty(file: string): void {
  closeSync(openSync(file, 'a', 0o600));
}

/** Without one of these the server would write where nobody finds it, or share the data dir with another. */
const OPEN_FILES = ['spine.db', 'spine.db-wal', 'spine.db-shm', 'spine.lock', 'blobs'];

function marks(names: Names, identity: string): Pick<DataDir, 'opened' | 'closing'> {
  return {
    opened() {
      if (readTextIfThere(names.id) === null) writePrivately(names.id, `${identity}\n`);
      writePrivately(names.open, `${process.pid}\n`);
      return rememberFiles([names.dir, names.id, ...OPEN_FILES.map((name) => path.join(names.dir, name))]);
    },
    closing() {
      rmSync(names.open, { force: true });
      syncFolderNow(names.dir);
    },
  };
}

/** A killed swap leaves the mark `rebuilding`, and the next start asks for another rebuild. */
function swapIn(names: Names, newFile: string, identity: string): string | null {
  writePrivately(names.rebuilding, '');
  const aside = existsSync(names.db) ? nextFree(`${names.db}.before-rebuild-`) : null;
  for (const suffix of DB_SUFFIXES) {
    if (aside !== null && existsSync(names.db + suffix)) renameSync(names.db + suffix, aside + suffix);
  }
  syncFolderNow(names.dir);
  renameSync(newFile, names.db);
  writePrivately(names.id, `${identity}\n`);
  rmSync(names.open, { force: true });
  rmSync(names.rebuilding);
  syncFolderNow(names.dir);
  return aside;
}

export function nextFree(prefix: string): string {
  for (let n = 1; ; n++) {
    if (!existsSync(`${prefix}${n}`)) return `${prefix}${n}`;
  }
}
