/** Whether the files that a server has open are still the ones that stand in its data dir. */

import { statSync } from 'node:fs';
import { DataDirError } from './datadir-files.ts';

/** Looks again at what stood there at the call. */
export type Look = () => DataDirError | null;

export function rememberFiles(paths: readonly string[]): Look {
  const known = paths.map((path) => ({ path, mark: markOf(path) }));
  return () => {
    for (const { path, mark } of known) if (markOf(path) !== mark) return moved(path);
    return null;
  };
}

/** A folder on a coarse clock may hide a change that follows another one at once: so often the files are looked at anyway. */
const FILES_EVERY = 16;

/**
 * For files of one folder that are looked at with every commit. Whoever deletes, moves or replaces one of them changes the
 * folder, so mostly only that is looked at. To ask for the times of a file that is being written has its next write note
 * the time anew, and each commit sync that too: with it a commit takes 250 µs and without 215, and a drain one by one is
 * 10 % slower (`embedded-drain`), side by side on a shared 2-core machine.
 */
export function rememberByFolder(folder: string, paths: readonly string[]): Look {
  const lookAtFiles = rememberFiles(paths);
  let known: string | null = null;
  let looks = 0;
  return () => {
    const now = markOf(folder, true);
    if (now !== null && now === known && ++looks % FILES_EVERY !== 0) return null;
    const lost = lookAtFiles();
    if (lost === null) known = now;
    return lost;
  };
}

/** Which file a path leads to, and when it changed. One that cannot be reached, for whatever reason, is as good as gone. */
function markOf(path: string, changed = false): string | null {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return null;
    return changed ? `${found.dev}:${found.ino}:${found.mtimeMs}` : `${found.dev}:${found.ino}`;
  } catch {
    return null;
  }
}

function moved(path: string): DataDirError {
  return new DataDirError(
    `${path} was deleted, moved or replaced under the running server; stopping, because nothing written from now on would last. Put the data dir back as it was, or restore a backup, and start again.`,
  );
}
