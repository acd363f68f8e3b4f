/** Whose artifacts a folder holds. A server sweeps only its own: to another database all of them look forgotten. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The name of the installation that the folder belongs to, kept in it. The first one to come gets it, unless a
 * database of its own lies beside the folder (`identityFile`).
 */
export async function ownerOf(folder: string, identityFile: string, identity: string): Promise<string> {
  const mark = join(folder, '.owner');
  const known = await textOf(mark);
  if (known !== null) return known;
  const owner = (await textOf(identityFile)) ?? identity;
  await writeFile(mark, `${owner}\n`, { mode: 0o600, flush: true });
  return owner;
}

async function textOf(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).trim() || null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
