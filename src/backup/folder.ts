/** Backups in a folder: written beside their place, made durable, then moved into it. */

import { opendir, rename, rm, stat } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { makeFolder, syncFolder } from '../disk/folder.ts';
import type { Listed, Place } from './place.ts';
import { BackupProblem } from './problem.ts';
import { writeFile } from './sums.ts';

export function folderPlace(folder: string, prefix: string): Place {
  const root = join(resolve(folder), prefix);
  const pathOf = (key: string): string => join(root, key);
  return {
    name: root,
    async put(key, source) {
      const path = pathOf(key);
      await makeFolders(dirname(path), folder);
      // The ending keeps a killed write from being taken for what it was to become.
      const { size } = await writeFile(`${path}.part`, source.open());
      if (size !== source.size)
        throw new BackupProblem('failure', `${path} got ${size} bytes instead of ${source.size}.`);
      await rename(`${path}.part`, path);
      await syncFolder(dirname(path));
    },
    async *read(key) {
      try {
        yield* createReadStream(pathOf(key)) as AsyncIterable<Uint8Array>;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        throw new BackupProblem('not_found', `${pathOf(key)} is not there.`, error);
      }
    },
    list: (prefix) => filesBelow(root, pathOf(prefix)),
    remove: (key) => rm(pathOf(key), { force: true }),
  };
}

/** A copy holds what the data dir holds, so that folders made for it are for their owner alone too. */
async function makeFolders(path: string, folder: string): Promise<void> {
  try {
    await makeFolder(path);
  } catch (error) {
    const why = (error as Error).message;
    throw new BackupProblem(
      'failure',
      `${folder} cannot be written to (${why}). Name another folder.`,
      error,
    );
  }
}

/** A name at a time: the folder may hold millions. */
async function* filesBelow(root: string, folder: string): AsyncGenerator<Listed> {
  for await (const entry of await openIfThere(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(root, path);
    const found = entry.isFile() ? await stat(path).catch(() => null) : null;
    if (found !== null) yield { key: relative(root, path).split(sep).join('/'), size: found.size };
  }
}

async function openIfThere(
  folder: string,
): Promise<AsyncIterable<{ name: string; isDirectory(): boolean; isFile(): boolean }>> {
  try {
    return await opendir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return nothing();
    const why = (error as Error).message;
    throw new BackupProblem('failure', `${folder} cannot be read (${why}).`, error);
  }
}

async function* nothing(): AsyncGenerator<never> {}
