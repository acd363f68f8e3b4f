/** Blobs as files in one folder: written beside their place, made durable, then moved into it. */

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, opendir, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { syncFolder } from '../disk/folder.ts';
import { SpineError } from '../domain/error.ts';
import type { BlobStore, StoredBytes, StoredFile } from './blobs.ts';

export interface DiskOptions {
  readonly folder: string;
  /** Letters, digits, - and _ only: it becomes a file name. */
  readonly newId: () => string;
  readonly now: () => number;
}

const PART = '.part';
const PART_KEPT_MS = 3_600_000;
const ID = /^[\w-]{1,64}$/;
// Windows has no such flags, and no symbolic links that anybody may make.
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
const NO_BLOCK = constants.O_NONBLOCK ?? 0;

/** Makes the folder if need be, and sweeps out what uploads that never ended left there. */
export async function openDiskBlobs(options: DiskOptions): Promise<BlobStore> {
  const folder = resolve(options.folder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await sweep(folder, options.now());
  const pathOf = (id: string): string => join(folder, id);
  return {
    put: (content, limitBytes) => put(folder, options.newId(), content, limitBytes),
    open: (id) => (ID.test(id) ? openBlob(pathOf(id)) : Promise.resolve(null)),
    sha256: async (id) => {
      const found = ID.test(id) ? await openBlob(pathOf(id)) : null;
      return found && hashOf(found.content);
    },
    async remove(id) {
      if (ID.test(id)) await rm(pathOf(id), { force: true });
    },
    files: () => files(folder),
    drop: (name, before) => drop(join(folder, name), before),
  };
}

/** Ids as servers make them; whatever else somebody put into the folder is not ours to touch. Spine v0 added an ending. */
const MADE_NAME = /^([\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12})(\.[A-Za-z\d]{1,16})?$/;

/** A name at a time: the folder may hold millions. */
async function* files(folder: string): AsyncGenerator<StoredFile> {
  for await (const { name } of await opendir(folder, { bufferSize: 256 })) {
    const [, id, ending] = MADE_NAME.exec(name) ?? [];
    if (id !== undefined) yield { id, name, isPart: ending === PART };
  }
}

async function drop(path: string, before: number): Promise<boolean> {
  const status = await lstat(path).catch(() => null);
  if (status === null || !status.isFile() || status.mtimeMs >= before) return false;
  await rm(path, { force: true });
  return true;
}

/** Uploads under way are younger; only a crash leaves older ones. */
async function sweep(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.endsWith(PART)) continue;
    const path = join(folder, name);
    const { mtimeMs } = await lstat(path);
    if (now - mtimeMs > PART_KEPT_MS) await rm(path, { force: true, recursive: true });
  }
}

async function put(
  folder: string,
  id: string,
  content: AsyncIterable<Uint8Array>,
  limitBytes: number,
): Promise<StoredBytes> {
  const path = join(folder, id);
  const part = `${path}${PART}`;
  try {
    const file = await open(
      part,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW,
      0o600,
    );
    try {
      const written = await write(file, content, limitBytes);
      await file.datasync();
      await file.close();
      await rename(part, path);
      await syncFolder(folder);
      return { id, path, ...written };
    } finally {
      await file.close();
    }
  } catch (error) {
    await rm(part, { force: true });
    throw translated(error, folder);
  }
}

async function write(
  file: FileHandle,
  content: AsyncIterable<Uint8Array>,
  limitBytes: number,
): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size > limitBytes) {
      throw new SpineError(
        'too_large',
        { limitBytes },
        { message: `The file is larger than ${limitBytes} bytes.` },
      );
    }
    hash.update(chunk);
    await writeAll(file, chunk);
  }
  return { size, sha256: hash.digest('hex') };
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
}

/** Only a plain file is a blob: a link or a pipe put in its place is as good as nothing. */
async function openBlob(path: string): ReturnType<BlobStore['open']> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | NO_FOLLOW | NO_BLOCK);
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'EMLINK'].includes(codeOf(error))) return null;
    throw error;
  }
  const { size } = await sizeOfPlainFile(file);
  if (size !== null) return { content: file.createReadStream(), size };
  await file.close();
  return null;
}

async function hashOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of content) hash.update(chunk);
  return hash.digest('hex');
}

async function sizeOfPlainFile(file: FileHandle): Promise<{ size: number | null }> {
  const status = await file.stat();
  return { size: status.isFile() ? status.size : null };
}

function translated(error: unknown, folder: string): unknown {
  const code = codeOf(error);
  if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code)) return new SpineError('disk_full', {}, { cause: error });
  if (code !== 'ENOENT') return error;
  const message = `The folder ${folder} is gone, so no file can be stored.`;
  return new SpineError('store_unavailable', {}, { cause: error, message });
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
