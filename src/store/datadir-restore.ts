/** Brings a backup into a data dir: nothing that was there is overwritten, and a killed restore is noticed. */

import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { syncFolderNow } from '../disk/folder.ts';
import { DB_SUFFIXES, enter, nextFree } from './datadir.ts';
import { type Names, writePrivately } from './datadir-files.ts';

export interface Restore {
  /** Something is there that a restore would replace. */
  readonly isOccupied: boolean;
  /** The database of the backup is written here, beside the old one. */
  readonly dbFile: string;
  /** Its journal here; empty to begin with. */
  readonly journalDir: string;
  /** Puts both in their places and says where the old ones went. */
  commit(identity: string): readonly string[];
  /** Lets go of the data dir; without a commit the old database stays as it was. */
  release(): void;
}

/** What stands in a data dir that somebody has used. */
const USED_FOLDERS = ['journal', 'blobs', 'objects', 'jobs'];

function isUsed(dir: string): boolean {
  if (['spine.db', 'spine.db-wal', 'spine.id'].some((name) => existsSync(path.join(dir, name)))) return true;
  return USED_FOLDERS.some((name) => {
    const folder = path.join(dir, name);
    return existsSync(folder) && readdirSync(folder).length > 0;
  });
}

/** Throws a DataDirError while a server uses the data dir. */
export async function openForRestore(dir: string): Promise<Restore> {
  const { names, lock } = enter(dir);
  try {
    // A start before the end would make an empty installation where a restored one is expected.
    const isInterrupted = existsSync(names.restoring);
    const isOccupied = !isInterrupted && isUsed(dir);
    const isFresh = !isInterrupted && !isOccupied;
    if (isFresh) writePrivately(names.restoring, '');
    const dbFile = `${names.db}.restoring`;
    const journalDir = path.join(dir, 'journal.restoring');
    rmSync(dbFile, { force: true });
    rmSync(journalDir, { recursive: true, force: true });
    await mkdir(journalDir, { mode: 0o700 });
    let isDone = false;
    return {
      isOccupied,
      dbFile,
      journalDir,
      commit(identity) {
        const asides = swapIn(names, dbFile, journalDir, identity);
        isDone = true;
        return asides;
      },
      release() {
        if (!isDone) {
          rmSync(dbFile, { force: true });
          rmSync(journalDir, { recursive: true, force: true });
          if (isFresh) rmSync(names.restoring, { force: true });
        }
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function swapIn(names: Names, newFile: string, newJournal: string, identity: string): string[] {
  const { dir, db } = names;
  writePrivately(names.restoring, '');
  const asides: string[] = [];
  if (DB_SUFFIXES.some((suffix) => existsSync(db + suffix))) {
    const aside = nextFree(`${db}.before-restore-`);
    for (const suffix of DB_SUFFIXES) if (existsSync(db + suffix)) renameSync(db + suffix, aside + suffix);
    asides.push(aside);
  }
  const journal = path.join(dir, 'journal');
  if (readdirSync(journal).length > 0) {
    const aside = nextFree(`${journal}.before-`);
    renameSync(journal, aside);
    asides.push(aside);
  } else rmSync(journal, { recursive: true });
  syncFolderNow(dir);
  renameSync(newJournal, journal);
  renameSync(newFile, db);
  writePrivately(names.id, `${identity}\n`);
  // As after a kill: the journal of a backup is a moment behind its database, and the next start makes up for it.
  writePrivately(names.open, '');
  rmSync(names.restoring);
  syncFolderNow(dir);
  return asides;
}
