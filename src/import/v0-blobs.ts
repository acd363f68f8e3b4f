/** Files in blobs/ that the database does not know: v0 kept no record of them, and the journal keeps none. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, link, lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Store } from '../store/store.ts';

/** v0 named them `<id><ending>`, Spine names them `<id>`. */
const NAME = /^([\w-]{1,64})(\.[A-Za-z0-9]{1,16})?$/;

/** Gives each of them a record; answers how many. */
export async function importBlobs(dir: string, store: Store): Promise<number> {
  const folder = path.join(dir, 'blobs');
  const names = new Map<string, string>();
  for (const name of (await readdir(folder).catch(() => [])).toSorted(byText)) {
    const id = NAME.exec(name)?.[1];
    // The longer name comes later and has the ending, which is all that is left of the uploaded name.
    if (id !== undefined && !name.endsWith('.part')) names.set(id, name);
  }
  let imported = 0;
  for (const [id, name] of names) {
    if ((await store.read.blobs.byId(id)) !== null) continue;
    imported += (await importBlob(store, folder, id, name)) ? 1 : 0;
  }
  return imported;
}

async function importBlob(store: Store, folder: string, id: string, name: string): Promise<boolean> {
  const file = path.join(folder, name);
  const status = await lstat(file);
  if (!status.isFile()) return false;
  if (name !== id) await sameUnder(file, path.join(folder, id));
  const sha256 = await hashOf(file);
  const createdAt = Math.max(0, Math.floor(status.mtimeMs));
  const blob = {
    id,
    filename: name,
    size: status.size,
    sha256,
    contentType: 'application/octet-stream',
    jobNo: null,
    createdAt,
    createdBy: 'import',
  };
  await store.transaction(0, async (tx) => tx.blobs.add(blob));
  return true;
}

/** The file is found under both names; where links are not possible it is copied. */
async function sameUnder(file: string, other: string): Promise<void> {
  try {
    await link(file, other);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    await copyFile(file, other);
  }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
