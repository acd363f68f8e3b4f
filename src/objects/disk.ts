/** Objects as files in a folder: written beside their place, made durable, then moved into it. */

import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder, pathBelow, syncFolder } from '../disk/folder.ts';
import { SpineError } from '../domain/error.ts';
import type { ObjectStore } from './objects.ts';

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];
// Windows has no such flag, and no symbolic links that anybody may make.
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

export function diskObjects(folder: string, dataPrefix: string): ObjectStore {
  const pathOf = (key: string): string => {
    const path = pathBelow(folder, key);
    if (path === null)
      throw new SpineError('bad_request', { field: 'key' }, { message: 'This is no name of an object.' });
    return path;
  };
  return {
    dataPrefix,
    put: async (key, bytes) => {
      const path = pathOf(key);
      try {
        await write(path, bytes);
      } catch (error) {
        const isFull = FULL.includes((error as NodeJS.ErrnoException).code ?? '');
        throw new SpineError(isFull ? 'disk_full' : 'storage_unavailable', {}, { cause: error });
      }
    },
    open: async (key) => {
      try {
        const file = await open(pathOf(key), constants.O_RDONLY | NO_FOLLOW);
        if ((await file.stat()).isFile()) return file.createReadStream();
        await file.close();
        return null;
      } catch (error) {
        if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
        throw error instanceof SpineError
          ? error
          : new SpineError('storage_unavailable', {}, { cause: error });
      }
    },
    remove: async (key) => rm(pathOf(key), { force: true }),
  };
}

async function write(path: string, bytes: Uint8Array): Promise<void> {
  const folder = dirname(path);
  const part = `${path}.part`;
  await makeFolder(folder);
  try {
    const file = await open(part, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      await file.writeFile(bytes);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(part, path);
    await syncFolder(folder);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
