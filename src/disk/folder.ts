/** A new name in a folder survives a power cut only when the folder itself is on disk. */

import { closeSync, fsyncSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** Windows cannot open a folder, and needs no such sync. */
const NEEDED = process.platform !== 'win32';

export async function syncFolder(folder: string): Promise<void> {
  if (!NEEDED) return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** For what happens before the first request, or after the last. */
export function syncFolderNow(folder: string): void {
  if (NEEDED) syncNow(folder);
}

function syncNow(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
