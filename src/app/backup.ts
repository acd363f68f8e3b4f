/** Copies the embedded database while a server may be writing to it. */

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Out } from '../app.ts';
import type { Config } from '../config.ts';
import { copyDatabase } from '../store/sqlite-copy.ts';

class BackupError extends Error {
  readonly exitCode = 1;
}

export async function backup(config: Config, file: string, out: Out): Promise<void> {
  if (config.databaseUrl !== null) {
    throw new BackupError(
      "This installation is on PostgreSQL: back it up with pg_dump or your provider's snapshots.",
    );
  }
  const database = join(config.dataDir, 'spine.db');
  if (!existsSync(database))
    throw new BackupError(`There is no database at ${database}. Name its folder with --data-dir.`);
  if (existsSync(file)) throw new BackupError(`${file} exists already. Name a file that does not.`);
  makeFolder(dirname(file));
  const part = `${file}.part`;
  try {
    const pages = await copyDatabase(database, part);
    makeDurable(part);
    renameSync(part, file);
    makeDurable(dirname(file));
    out.print(`Backed up ${database} to ${file} (${pages.toLocaleString('en')} pages, checked).`);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

/** A copy holds what the data dir holds, so that a folder made for it is for its owner alone too. */
function makeFolder(folder: string): void {
  try {
    const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (first !== undefined) makeDurable(dirname(first));
  } catch (error) {
    throw new BackupError(`${folder} cannot be made (${(error as Error).message}). Name another folder.`);
  }
}

function makeDurable(path: string): void {
  const handle = openSync(path, 'r');
  fsyncSync(handle);
  closeSync(handle);
}
