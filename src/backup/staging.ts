/** Gathers what a backup consists of in a folder beside the data, so that it is one moment however long the upload takes. */

import { constants } from 'node:fs';
import { copyFile, link, lstat, mkdir, open, rm, stat, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pathBelow } from '../disk/folder.ts';
import { listSegments } from '../files/journal-segments.ts';
import { copyDatabase } from '../store/sqlite-copy.ts';
import { openSqliteReader } from '../store/sqlite-reader.ts';
import type { Reader } from '../store/store.ts';
import { type ListedFile, printFile } from './manifest.ts';
import { BackupProblem } from './problem.ts';
import { fileSource, type Sum, sumOf } from './sums.ts';

export interface Piece extends Sum {
  /** Where its bytes are, from the beginning of that file. */
  readonly path: string;
}

export interface Staged {
  readonly identity: string;
  readonly database: Piece | null;
  readonly jobs: number;
  readonly journal: readonly (Piece & { readonly file: string })[];
  /** Null where they are in the database, which has its own backups. */
  readonly artifacts: StagedList | null;
  /** Null where what bots collect lies in a bucket. */
  readonly objects: StagedList | null;
}

/** The list of files that belong to a backup. */
export interface StagedList extends Piece {
  readonly count: number;
  readonly bytes: number;
  /** Where the files themselves are, under their ids or keys. */
  readonly folder: string;
}

export interface StagingOptions {
  readonly dataDir: string;
  /** Null for SQLite. */
  readonly postgresUrl: string | null;
  /** Where the artifacts lie; null when that is the database. */
  readonly blobFolder: string | null;
  /** Where what bots collect lies; null when that is a bucket. */
  readonly objectFolder: string | null;
}

const FILES_A_PAGE = 500;
/** What is left to the server on a disk that a copy would fill. */
const SPARE_BYTES = 32 * 1024 * 1024;

/** The folder is gone afterwards, whatever happened; one that a killed process left is cleared first. */
export async function withStaged<T>(
  options: StagingOptions,
  use: (staged: Staged) => Promise<T>,
): Promise<T> {
  const folder = join(options.dataDir, 'backup.staging');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  try {
    return await use(await stage(options, folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function stage(options: StagingOptions, folder: string): Promise<Staged> {
  const { dataDir, postgresUrl } = options;
  // Before the database: a journal that was ahead of it would be put aside at the first start.
  const journal = await stageJournal(join(dataDir, 'journal'), folder);
  if (postgresUrl !== null) {
    const { openPostgresReader } = await import('../store/postgres-reader.ts');
    return {
      database: null,
      journal,
      ...(await readAll(openPostgresReader(postgresUrl, 1), folder, options)),
    };
  }
  const copy = join(folder, 'spine.db');
  const original = join(dataDir, 'spine.db');
  await mustFit(original, dataDir);
  await copyDatabase(original, copy);
  const database = await pieceOf(copy);
  const read = await readAll(openSqliteReader(copy), folder, options);
  return { database, journal, ...read };
}

/** A disk that the copy filled to the brim would hold up the server. */
async function mustFit(database: string, dataDir: string): Promise<void> {
  const { size } = await stat(database).catch((cause: unknown) => {
    const hint = 'Name its folder with --data-dir.';
    throw new BackupProblem('not_found', `There is no database at ${database}. ${hint}`, cause);
  });
  const log = await stat(`${database}-wal`).catch(() => null);
  const { bavail, bsize } = await statfs(dataDir);
  const neededBytes = size + (log?.size ?? 0) + SPARE_BYTES;
  if (bavail * bsize < neededBytes)
    throw new BackupProblem(
      'failure',
      `The disk of ${dataDir} has not enough room for a copy of the database: ${megabytes(neededBytes)} are needed, ${megabytes(bavail * bsize)} are free.`,
    );
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6).toLocaleString('en')} MB`;

const TRIES = 5;

/** Links instead of copies: segments are only appended to, and a base may take their place at any time. */
async function stageJournal(dir: string, folder: string): Promise<Staged['journal']> {
  for (let tries = 1; ; tries++) {
    try {
      const { live } = await listSegments(dir);
      const pieces: (Piece & { file: string })[] = [];
      for (const { file } of live) {
        const path = join(folder, `journal-${tries}-${basename(file)}`);
        await linkOrCopy(file, path);
        const piece = await pieceOf(path);
        pieces.push({ ...piece, file: basename(file) });
      }
      return pieces;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === TRIES) throw error;
    }
  }
}

/** Not every file system has links. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw error;
    return copyFile(from, to, constants.COPYFILE_EXCL);
  });
}

/** As long as the file is now. */
async function pieceOf(path: string): Promise<Piece> {
  const { size } = await stat(path);
  return { path, ...(await sumOf(fileSource(path, size).open())) };
}

async function readAll(
  reader: Reader,
  folder: string,
  { blobFolder, objectFolder }: StagingOptions,
): Promise<Pick<Staged, 'identity' | 'jobs' | 'artifacts' | 'objects'>> {
  const { read } = reader;
  try {
    const identity = await identityIn(read);
    const artifacts =
      blobFolder === null ? null : await writeList(join(folder, 'artifacts'), blobFolder, artifactsIn(read));
    const objects =
      objectFolder === null
        ? null
        : await writeList(join(folder, 'objects'), objectFolder, objectsIn(read, objectFolder));
    const jobs = (await read.counters.all()).reduce((sum, { n }) => sum + n, 0);
    return { identity, jobs, artifacts, objects };
  } finally {
    await reader.close();
  }
}

async function identityIn(read: Reader['read']): Promise<string> {
  const identity = await read.meta.get('identity').catch((cause: unknown) => {
    throw new BackupProblem('not_found', 'The database cannot be read, or no server has used it yet.', cause);
  });
  if (identity === null) throw new BackupProblem('not_found', 'No server has used this database yet.');
  return identity;
}

/** A page at a time: there may be millions. */
async function writeList(
  path: string,
  folder: string,
  pages: AsyncIterable<readonly ListedFile[]>,
): Promise<StagedList> {
  const handle = await open(path, 'w', 0o600);
  let count = 0;
  let bytes = 0;
  try {
    for await (const page of pages) {
      await handle.appendFile(page.map(printFile).join(''));
      count += page.length;
      for (const { size } of page) bytes += size;
    }
    return { ...(await pieceOf(path)), count, bytes, folder };
  } finally {
    await handle.close();
  }
}

async function* artifactsIn(read: Reader['read']): AsyncGenerator<readonly ListedFile[]> {
  for (let after = ''; ; ) {
    const page = await read.blobs.after(after, FILES_A_PAGE);
    yield page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

async function* objectsIn(read: Reader['read'], folder: string): AsyncGenerator<readonly ListedFile[]> {
  for (let after = ''; ; ) {
    const page = await read.taskData.batchesAfter(after, FILES_A_PAGE);
    yield page.map(({ key, size, sha256 }) => ({ id: key, size, sha256 }));
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.key;
  }
  for (let after = ''; ; ) {
    const page = await read.taskData.filesAfter(after, FILES_A_PAGE);
    const found: ListedFile[] = [];
    for (const { key } of page) {
      const file = await asItLies(folder, key);
      if (file !== null) found.push({ id: key, ...file });
    }
    yield found;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

/** A file that a bot only named is not missed; one that it put there has the bytes that it has now. */
async function asItLies(folder: string, key: string): Promise<Sum | null> {
  const path = pathBelow(folder, key);
  if (path === null) return null;
  const found = await lstat(path).catch(() => null);
  if (found === null || !found.isFile()) return null;
  const { size, sha256 } = await pieceOf(path);
  return { size, sha256 };
}
