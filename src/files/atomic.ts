/** Files that are replaced as a whole: temp file, sync, rename. A power cut leaves the old or the new one. */

import { type FileHandle, open, rename } from 'node:fs/promises';

export async function replaceFile(
  file: string,
  content: string | ((handle: FileHandle) => Promise<void>),
): Promise<void> {
  const temp = `${file}.tmp`;
  const handle = await open(temp, 'w', 0o600);
  try {
    if (typeof content === 'string') await handle.writeFile(content);
    else await content(handle);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(temp, file);
}
