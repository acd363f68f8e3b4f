/** Folders, and names in them: a new one survives a power cut only when the folder itself is on disk. */

import { closeSync, fsyncSync, openSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';

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

/** Makes a folder with those above it, for their owner alone, and durably. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

/** Where a key with slashes lies below a folder; null when a part of it could lead elsewhere. */
export function pathBelow(folder: string, key: string): string | null {
  const parts = key.split('/');
  return parts.some((part) => /^\.*$/.test(part) || part.includes('\0')) ? null : join(folder, ...parts);
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
